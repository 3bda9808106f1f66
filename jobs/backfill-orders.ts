import type { App } from '../src/app/app.ts';
import { spanOfDays } from '../src/base/time/day-range.ts';
import { type WalkState, walkOrders } from '../src/orders/select/orders-by-day.ts';
import { defineRun } from '../src/runs/define-run.ts';
import type { RunInfo } from '../src/runs/job.ts';
import { waitingCounts } from '../src/warehouse/orders/due-orders.ts';
import { runOfOrders } from './conclusions.ts';
import { stepsOf } from './push-orders.ts';

/**
 * On demand: every order created in a range of days. An order that has not changed since it was pushed costs no
 * request.
 */
export const backfillOrders = defineRun({
  name: 'backfill-orders',
  ...runOfOrders,
  trigger: 'backfill',
  priority: 10,
  plan: (app, run) => walk(app, run),
  async next(app, run, state: WalkState) {
    return state.next === undefined ? undefined : walk(app, run, state);
  },
  complete: async ({ warehouse: { db } }) => ({ counts: await waitingCounts(db) }),
});

/** One key for one range, whatever the options: a run replaces the one before it. */
export const backfillOrdersKey = ({ from, to }: { from?: string | undefined; to?: string | undefined }): string =>
  ['backfill-orders', from ?? 'first', to ?? 'last'].join('_');

async function walk({ shop, warehouse: { db }, config }: App, { rights }: RunInfo, from?: WalkState) {
  return stepsOf(await walkOrders({ shop, db }, spanOfDays(rights, config.api.timeZone), config.orderBatchSize, from));
}
