import { concludeSyncOrders, planSyncOrders } from '../src/orders/sync-orders.ts';
import { defineRun } from './define-run.ts';
import { pushOrders } from './push-orders.ts';

/** Scheduled: the orders that changed since the last run. */
export const syncOrders = defineRun({
  name: 'sync-orders',
  schedule: 'orders',
  step: pushOrders,
  priority: 1,
  letters: ['order', 'order_line'],
  parse: () => ({}),
  async plan(app) {
    const readTo = app.now().toISOString();
    const deps = { shop: app.shop, db: app.warehouse.db };
    const { steps, upTo } = await planSyncOrders(deps, { overlapMinutes: app.config.orderOverlapMinutes });
    return { steps, state: { readTo, ...(upTo && { upTo }) } };
  },
  async complete(app, { upTo, readTo }) {
    await concludeSyncOrders(app.warehouse.db, upTo, new Date(readTo));
    return {};
  },
});
