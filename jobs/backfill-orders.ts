import type { App } from '../src/app/app.ts';
import { requireSameShop } from '../src/app/require-same-shop.ts';
import { spanOfDays } from '../src/base/time/day-range.ts';
import { type WalkState, walkOrders } from '../src/orders/select/orders-by-day.ts';
import { defineRun } from '../src/runs/define-run.ts';
import { waitingCounts } from '../src/warehouse/orders/due-orders.ts';
import { allReadBy } from '../src/warehouse/orders/order-queries.ts';
import type { Run } from '../src/warehouse/runs/runs.ts';
import { runOfOrders } from './flows.ts';
import { noteQueries } from './note-queries.ts';
import { stepsOf } from './push-orders.ts';

/** `queries`: a hash of the run's queries. Undefined: an earlier version planned the run. */
type State = WalkState & { queries?: string | undefined };

/**
 * On demand: every order created in a range of days. If an order has not changed since its push, it needs no request.
 */
export const backfillOrders = defineRun({
  name: 'backfill-orders',
  ...runOfOrders,
  trigger: 'backfill',
  priority: 10,
  async plan(app, run) {
    return walk(app, run, { queries: await noteQueries(app, run) });
  },
  async next(app, run, state: State) {
    return state.next === undefined ? undefined : walk(app, run, state);
  },
  async complete({ shop, warehouse: { db } }, { run: { rights }, state: { queries } }) {
    // An empty copy that takes the shop's place between two batches would end the walk.
    await requireSameShop({ shop, db });
    if (rights.from === undefined && rights.to === undefined && queries) await allReadBy(db, queries);
    return { counts: await waitingCounts(db) };
  },
});

/** One key for one range, whatever the options: a run replaces the previous run. */
export const backfillOrdersKey = ({ from, to }: { from?: string | undefined; to?: string | undefined }): string =>
  ['backfill-orders', from ?? 'first', to ?? 'last'].join('_');

async function walk({ shop, warehouse: { db }, config }: App, { rights }: Run, state: State) {
  const span = spanOfDays(rights, config.api.timeZone);
  return stepsOf(await walkOrders({ shop, db }, span, config.orderBatchSize, state));
}
