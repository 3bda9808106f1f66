import { type BoundsDeps, plausibleDates } from '../reviews/review-bounds.ts';
import type { App } from './app.ts';

/** Dependencies for planning and reading reviews. */
export function readingDeps(app: App, signal: AbortSignal): BoundsDeps & { reviews: App['api']['reviews'] } {
  const { timeZone } = app.config.api;
  const plausible = plausibleDates(app.config.reviewYearsFrom, timeZone, app.now());
  return { reviews: app.api.reviews, db: app.warehouse.db, now: app.now, timeZone, signal, plausible };
}
