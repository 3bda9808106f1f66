import type { App } from '../src/app/app.ts';
import {
  concludeSyncOrders,
  continueSyncOrders,
  planSyncOrders,
  type SyncOptions,
} from '../src/orders/which/changed-orders.ts';
import { waitingCounts } from '../src/warehouse/orders/order-revisits.ts';
import { recordShopQueries } from '../src/warehouse/shop-queries.ts';
import { countHeldRemovals } from './conclusions.ts';
import { defineRun } from './define-run.ts';
import { object } from './payload.ts';
import { pushOrders } from './push-orders.ts';

/** `allowRemovals`: remove lines and orders even where far more are gone than usual. */
export type SyncOrders = { allowRemovals: boolean };

/** Scheduled: the orders that changed since the last run. */
export const syncOrders = defineRun({
  name: 'sync-orders',
  schedule: 'orders',
  step: pushOrders,
  priority: 1,
  deadLetters: ['order', 'order_line'],
  conclusion: countHeldRemovals,
  parse: (payload): SyncOrders => ({ allowRemovals: object(payload).allowRemovals === true }),
  async plan(app, payload, { id: runId }) {
    await recordShopQueries(app.warehouse.db, await app.shop.queryHashes());
    const { steps, state } = await planSyncOrders(depsOf(app), optionsOf(app, payload, runId));
    return { steps, state: { ...state, runId } };
  },
  async next(app, payload, { runId, ...state }, end) {
    const batch = { failed: end.failures > 0, isLost: end.failures > 0 && end.successes === 0 };
    const next = await continueSyncOrders(depsOf(app), state, batch, optionsOf(app, payload, runId));
    return next && { steps: next.steps, state: { ...next.state, runId } };
  },
  async complete(app, { runId: _, ...state }) {
    await concludeSyncOrders(app.warehouse.db, state);
    return waitingCounts(app.warehouse.db);
  },
});

const depsOf = (app: App) => ({ shop: app.shop, db: app.warehouse.db });

function optionsOf({ config }: App, { allowRemovals }: SyncOrders, runId: string): SyncOptions {
  const removals = allowRemovals ? 'all' : 'usual';
  return { lookbackMinutes: config.orderOverlapMinutes, batchSize: config.orderBatchSize, removals, runId };
}
