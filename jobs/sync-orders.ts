import type { App } from '../src/app/app.ts';
import {
  type ChangedOptions,
  type ChangedState,
  changedOrders,
  concludeChangedOrders,
  nextChangedOrders,
  planChangedOrders,
} from '../src/orders/which/changed-orders.ts';
import { waitingCounts } from '../src/warehouse/orders/due-orders.ts';
import { runOfOrders } from './conclusions.ts';
import { defineRun } from './define-run.ts';
import { parsePayload, type Removals, removals, settingsOf } from './payload.ts';
import { stepsUnder } from './push-orders.ts';

/** Scheduled: the orders that changed since the last run, and those that are due. */
export const syncOrders = defineRun({
  name: 'sync-orders',
  schedule: 'orders',
  ...runOfOrders,
  priority: 1,
  parse: (payload) => parsePayload(removals, payload),
  async plan(app, payload) {
    return stepsUnder(policyOf(app, payload), await planChangedOrders(depsOf(app), optionsOf(app, payload)));
  },
  async next(app, payload, state: ChangedState) {
    const next = await nextChangedOrders(depsOf(app), state, optionsOf(app, payload));
    return next && stepsUnder(policyOf(app, payload), next);
  },
  async complete(app, { state }) {
    await concludeChangedOrders(depsOf(app), state);
    return { counts: await waitingCounts(app.warehouse.db) };
  },
});

const depsOf = (app: App) => ({ shop: app.shop, db: app.warehouse.db });

/** The orders that a run would look at now. Writes nothing. */
export const ordersToSync = (app: App) => changedOrders(depsOf(app), optionsOf(app, { allowRemovals: false }));

const policyOf = (app: App, { allowRemovals, settings = settingsOf(app) }: Removals) =>
  ({ contact: 'young', allowRemovals, settings }) as const;

const optionsOf = ({ config }: App, { allowRemovals }: Removals): ChangedOptions => ({
  lookbackMinutes: config.orderOverlapMinutes,
  batchSize: config.orderBatchSize,
  isAnyTime: allowRemovals,
});
