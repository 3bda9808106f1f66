import * as v from 'valibot';
import { spanOfDays } from '../src/base/time/day-range.ts';
import type { PushPolicy } from '../src/orders/order/desired-order.ts';
import { type WalkState, walkOrders } from '../src/orders/which/orders-by-day.ts';
import { waitingCounts } from '../src/warehouse/orders/due-orders.ts';
import { recordShopQueries, settleShopQueries } from '../src/warehouse/shop-queries.ts';
import { runOfOrders } from './conclusions.ts';
import { defineRun } from './define-run.ts';
import { days, flag, parsePayload } from './payload.ts';
import { stepsUnder } from './push-orders.ts';

const shape = v.object({
  ...days,
  /** Whether customers' e-mail and phone go along (promise 7: only when asked for). */
  withEmail: flag,
  /** Remove lines and orders beyond the day's allowance. */
  allowRemovals: flag,
});

export type BackfillOrders = v.InferOutput<typeof shape>;

/** `lastQueryChange`: the last change of the queries by which the first batch was read. */
type State = WalkState & { lastQueryChange: string | null };

/**
 * On demand: every order created in a range of days. An order that has not changed since it was pushed costs no
 * request.
 */
export const backfillOrders = defineRun({
  name: 'backfill-orders',
  ...runOfOrders,
  priority: 10,
  parse: (payload) => parsePayload(shape, payload),
  async plan({ shop, warehouse: { db }, config }, payload) {
    const lastQueryChange = await recordShopQueries(db, await shop.queryHashes());
    const range = spanOfDays(payload, config.api.timeZone);
    const { codes, state } = await walkOrders({ shop, db }, range, config.orderBatchSize);
    return stepsUnder(backfillPolicy(payload), { codes, state: { ...state, lastQueryChange } });
  },
  async next({ shop, warehouse: { db }, config }, payload, state: State) {
    if (state.next === undefined) return undefined;
    const range = spanOfDays(payload, config.api.timeZone);
    const { codes, state: walk } = await walkOrders({ shop, db }, range, config.orderBatchSize, state);
    const { lastQueryChange } = state;
    return stepsUnder(backfillPolicy(payload), { codes, state: { ...walk, lastQueryChange } });
  },
  async complete({ warehouse: { db } }, { lastQueryChange }, _run, _failures, { from, to }) {
    if (from === undefined && to === undefined) await settleShopQueries(db, lastQueryChange);
    return waitingCounts(db);
  },
});

export const backfillPolicy = ({ withEmail, allowRemovals }: BackfillOrders): PushPolicy => ({
  contact: withEmail ? 'always' : 'never',
  allowRemovals,
});

/** One key for one range: a command joins a run of the same key that has not ended. */
export function backfillOrdersKey({ from, to, withEmail, allowRemovals }: BackfillOrders): string {
  const options = [...(withEmail ? ['with-email'] : []), ...(allowRemovals ? ['allow-removals'] : [])];
  return ['backfill-orders', from ?? 'first', to ?? 'last', ...options].join('_');
}
