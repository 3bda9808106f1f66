import { warehouseNow } from '../../warehouse/clock.ts';
import type { Db } from '../../warehouse/index.ts';
import { holdRemovals, wantedRemovals } from '../../warehouse/orders/order-removals.ts';
import type { ContactPolicy } from '../order/contact-rule.ts';
import type { PushPolicy } from '../order/desired-order.ts';
import type { OrderStep } from '../push/push-slice.ts';
import { heldReason, isUnusual } from '../push/removal-guard.ts';

/** Orders in one step of a small batch, so that several workers share it. */
const ordersPerSmallStep = 200;
/** Orders in one step of a large batch: the queue keeps a row a step until the run ends. */
const ordersPerLargeStep = 1000;
const smallBatch = 2000;

/** @param plannedAt where the orders are read again: not those that the run has pushed since. */
export function stepsOf(
  codes: readonly string[],
  policy: { removals?: PushPolicy['removals']; contact?: ContactPolicy },
  plannedAt?: string,
): OrderStep[] {
  const { removals = 'usual', contact = 'young' } = policy;
  const size = codes.length <= smallBatch ? ordersPerSmallStep : ordersPerLargeStep;
  const steps: OrderStep[] = [];
  for (let at = 0; at < codes.length; at += size) {
    const step = { codes: codes.slice(at, at + size), contact, removals };
    steps.push(plannedAt === undefined ? step : { ...step, plannedAt });
  }
  return steps;
}

/**
 * The last batch of a run. Until then no push has removed anything: each took note of what it would remove, so that all of
 * it can be counted, whatever slices, processes and attempts the run consisted of.
 *
 * @param run.read orders that the run has read.
 * @param run.absent orders that the run will delete afterwards because they are gone from the shop: they count as well.
 * @returns the orders of which something is to be removed; none where that is far more than usual: then they are dead letters.
 */
export async function planRemovals(
  db: Db,
  run: {
    runId?: string | undefined;
    read: number;
    absent?: number;
    removals?: PushPolicy['removals'];
    contact?: ContactPolicy;
  },
): Promise<OrderStep[]> {
  const plannedAt = (await warehouseNow(db)).toISOString();
  const wanted = await wantedRemovals(db, run.runId);
  const removals = wanted.reduce((sum, one) => sum + one.removals, run.absent ?? 0);
  const codes = wanted.map(({ code }) => code);
  if (run.removals !== 'all' && isUnusual({ read: run.read, removals })) {
    await holdRemovals(db, run.runId, { codes, reason: heldReason(removals, run.read) });
    return [];
  }
  return stepsOf(codes, { ...run, removals: 'approved' }, plannedAt);
}
