import type { SliceDeps } from '../orders/push-slice.ts';
import type { App } from './app.ts';

/** What pushing orders needs of the app. */
export const pushDeps = (app: App, signal: AbortSignal): SliceDeps => ({
  api: app.api,
  shop: app.shop,
  db: app.warehouse.db,
  store: app.orderStore,
  log: app.log,
  now: app.now,
  signal,
  onWait: app.onWait,
  contactMaxAgeDays: app.config.orderContactMaxAgeDays,
  deletes: app.config.orderDeletes,
  settleMs: 1000,
});
