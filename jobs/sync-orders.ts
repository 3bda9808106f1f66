import type { App } from '../src/app/app.ts';
import {
  type ChangedOptions,
  type ChangedState,
  changedOrders,
  concludeChangedOrders,
  nextChangedOrders,
  planChangedOrders,
} from '../src/orders/select/changed-orders.ts';
import { defineRun } from '../src/runs/define-run.ts';
import { waitingCounts } from '../src/warehouse/orders/due-orders.ts';
import { runOfOrders } from './conclusions.ts';
import { noteQueries } from './note-queries.ts';
import { stepsOf } from './push-orders.ts';

/** Scheduled: the orders that changed since the last run, and those that are due. */
export const syncOrders = defineRun({
  name: 'sync-orders',
  schedule: 'orders',
  ...runOfOrders,
  trigger: 'sync',
  priority: 1,
  async plan(app, run) {
    await noteQueries(app, run);
    return stepsOf(await planChangedOrders(depsOf(app), optionsOf(app, run.rights)));
  },
  async next(app, { rights }, state: ChangedState) {
    const next = await nextChangedOrders(depsOf(app), state, optionsOf(app, rights));
    return next && stepsOf(next);
  },
  async complete(app, { state }) {
    await concludeChangedOrders(depsOf(app), state);
    return { counts: await waitingCounts(app.warehouse.db) };
  },
});

const depsOf = (app: App) => ({ shop: app.shop, db: app.warehouse.db });

/** The orders that a run would look at now. Writes nothing. */
export const ordersToSync = (app: App) => changedOrders(depsOf(app), optionsOf(app, { allowRemovals: false }));

const optionsOf = ({ config }: App, { allowRemovals }: { allowRemovals: boolean }): ChangedOptions => ({
  lookbackMinutes: config.orderOverlapMinutes,
  batchSize: config.orderBatchSize,
  isAnyTime: allowRemovals,
});
