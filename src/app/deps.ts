import { defaultLimits } from '../orders/limits.ts';
import type { OrderDeps } from '../orders/order-deps.ts';
import { plausibleDates } from '../reviews/plan/review-bounds.ts';
import type { ReviewDeps } from '../reviews/review-deps.ts';
import type { Systems } from './app.ts';
import { requireSameShop } from './require-same-shop.ts';

/** The app's dependencies for reading, comparing and pushing orders. */
export const orderDeps = (app: Systems, signal: AbortSignal): OrderDeps => ({
  api: app.api,
  shop: app.shop,
  db: app.warehouse.db,
  store: app.orderStore,
  slots: app.orderSlots,
  log: app.log,
  now: app.now,
  signal,
  onWait: app.onWait,
  limits: defaultLimits,
  requireSameShop: () => requireSameShop({ shop: app.shop, db: app.warehouse.db }),
});

/** The app's dependencies for planning and reading reviews. Keep them less than a day: plausible dates end tomorrow. */
export function reviewDeps(app: Systems, signal: AbortSignal): ReviewDeps {
  const { warehouse, now, lists, config } = app;
  const { timeZone } = config.api;
  const plausible = plausibleDates(config.reviewYearsFrom, timeZone, now());
  return { reviews: app.api.reviews, warehouse, lists, now, timeZone, signal, plausible };
}
