import type { Systems } from '../src/app/app.ts';
import { requireSameShop } from '../src/app/require-same-shop.ts';
import { IncompleteError } from '../src/base/errors.ts';
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
import { readCursor } from '../src/warehouse/runs/cursors.ts';
import { openOrNewest } from '../src/warehouse/runs/runs.ts';
import { backfillOrders } from './backfill-orders.ts';
import { runOfOrders } from './flows.ts';
import { noteQueries } from './note-queries.ts';
import { stepsOf } from './push-orders.ts';

/** Scheduled: the orders that changed since the last run, and due orders. */
export const syncOrders = defineRun({
  name: 'sync-orders',
  schedule: 'orders',
  ...runOfOrders,
  trigger: 'sync',
  priority: 1,
  async plan(app, run) {
    await requireNoBackfill(app);
    await noteQueries(app, run);
    return stepsOf(await planChangedOrders(depsOf(app), optionsOf(app, run.rights)));
  },
  async next(app, { rights }, state: ChangedState) {
    const next = await nextChangedOrders(depsOf(app), state, optionsOf(app, rights));
    if (next) await requireNoBackfill(app);
    return next && stepsOf(next);
  },
  async complete(app, { state }) {
    // An empty copy that takes the shop's place between two batches would end the walk over all orders.
    if (state.isByCode) await requireSameShop(depsOf(app));
    await concludeChangedOrders(depsOf(app), state);
    return { counts: await waitingCounts(app.warehouse.db) };
  },
});

/**
 * The first sync would send the contact of young orders that a backfill has not reached yet. The person who began the
 * backfill wants to mail nobody about them, even if the backfill was stopped. It may also begin during the first sync.
 *
 * @throws IncompleteError
 */
async function requireNoBackfill({ warehouse: { db } }: Systems): Promise<void> {
  if ((await readCursor(db, 'orders')) !== undefined) return;
  const { outcome, reason } = (await openOrNewest(db, backfillOrders.name, 'backfill')) ?? { outcome: 'done' };
  if (outcome === 'done' || (outcome === 'incomplete' && reason !== 'steps-failed')) return;
  const how = outcome === null ? 'has not ended' : outcome === 'abandoned' ? 'was stopped' : 'failed';
  throw new IncompleteError(
    `The first sync of orders waits for a backfill of orders that ${how}: the sync would send ` +
      'e-mail and phone of orders that the backfill is to push without them',
    {
      hint:
        outcome === null
          ? 'Wait for its end; review-sync runs names it, and review-sync runs end ID ends it.'
          : 'Run the backfill again: review-sync backfill orders. If the sync may send e-mail and phone, backfill a day without orders: ' +
            'review-sync backfill orders --from 2000-01-01 --to 2000-01-01',
    },
  );
}

const depsOf = (app: Systems) => ({ shop: app.shop, db: app.warehouse.db });

/** The orders that a run would read now. Writes nothing. */
export const ordersToSync = (app: Systems, allowRemovals: boolean) =>
  changedOrders(depsOf(app), optionsOf(app, { allowRemovals }));

const optionsOf = ({ config }: Systems, { allowRemovals }: { allowRemovals: boolean }): ChangedOptions => ({
  lookbackMinutes: config.orderOverlapMinutes,
  batchSize: config.orderBatchSize,
  isAnyTime: allowRemovals,
});
