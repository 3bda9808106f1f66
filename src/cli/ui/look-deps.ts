import type { App } from '../../app/app.ts';
import type { LookDeps } from '../../orders/look-at-order.ts';

/** What looking at an order at both ends needs of the app. */
export const lookDeps = (app: App): LookDeps => ({
  api: app.api,
  db: app.warehouse.db,
  now: app.now,
  contactMaxAgeDays: app.config.orderContactMaxAgeDays,
});
