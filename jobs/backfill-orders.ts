import type { App } from '../src/app/app.ts';
import { type DayRange, spanOfDays } from '../src/base/time/day-range.ts';
import type { PushPolicy } from '../src/orders/order/desired-order.ts';
import { codesByCreation } from '../src/orders/which/orders-by-day.ts';
import { planRemovals, stepsOf } from '../src/orders/which/plan-steps.ts';
import type { OrderPosition } from '../src/shop/orders.ts';
import { waitingCounts } from '../src/warehouse/orders/order-revisits.ts';
import { recordShopQueries, settleShopQueries } from '../src/warehouse/shop-queries.ts';
import { countHeldRemovals } from './conclusions.ts';
import { defineRun } from './define-run.ts';
import { object, optionalText } from './payload.ts';
import { pushOrders } from './push-orders.ts';

export type BackfillOrders = DayRange & {
  /** Whether customers' e-mail and phone go along (promise 7: only when asked for). */
  withEmail: boolean;
  /** Remove lines and orders even where far more are gone than usual. */
  allowRemovals: boolean;
};

/**
 * On demand: every order created in a range of days. An order that has not changed since it was pushed costs no
 * request.
 */
export const backfillOrders = defineRun({
  name: 'backfill-orders',
  step: pushOrders,
  priority: 10,
  deadLetters: ['order', 'order_line'],
  conclusion: countHeldRemovals,
  parse(payload): BackfillOrders {
    const given = object(payload);
    const withEmail = given.withEmail === true;
    const allowRemovals = given.allowRemovals === true;
    return { ...optionalText(given, 'from'), ...optionalText(given, 'to'), withEmail, allowRemovals };
  },
  async plan(app, payload, { id: runId }) {
    const lastQueryChange = await recordShopQueries(app.warehouse.db, await app.shop.queryHashes());
    return planBatch(app, payload, { runId, read: 0, lastQueryChange });
  },
  async next(app, payload, state, { successes, failures }) {
    const isLost = failures > 0 && successes === 0;
    if (isLost || state.isRemoving) return undefined;
    if (state.next !== undefined) return planBatch(app, payload, state);
    const steps = await planRemovals(app.warehouse.db, { ...backfillPolicy(payload), ...state });
    return steps.length === 0 ? undefined : { steps, state: { ...state, isRemoving: true as const } };
  },
  async complete(app, { isAll, lastQueryChange }) {
    const { db } = app.warehouse;
    if (isAll) await settleShopQueries(db, lastQueryChange);
    return waitingCounts(db);
  },
});

type State = {
  runId: string;
  isAll: boolean;
  /** Where the next batch begins. */
  next?: OrderPosition;
  /** Orders of all batches so far. */
  read: number;
  /** The last change of the queries by which the first batch was read. */
  lastQueryChange: string | null;
  /** As in SyncState. */
  isRemoving?: true;
};

async function planBatch(app: App, payload: BackfillOrders, before: Omit<State, 'isAll'>) {
  const { next: after, ...kept } = before;
  const range = spanOfDays(payload, app.config.api.timeZone);
  const { keys, next } = await codesByCreation(app.shop, range, app.config.orderBatchSize, after);
  const codes = keys.map(({ code }) => code);
  const isAll = payload.from === undefined && payload.to === undefined;
  const state: State = { ...kept, read: kept.read + codes.length, isAll, ...(next && { next }) };
  return { steps: stepsOf(codes, backfillPolicy(payload)), state };
}

/** How its orders are pushed. */
export const backfillPolicy = ({ withEmail, allowRemovals }: BackfillOrders): PushPolicy => ({
  contact: withEmail ? 'always' : 'never',
  removals: allowRemovals ? 'all' : 'usual',
});

/** One key for one range: a command joins a run of the same key that has not ended. */
export function backfillOrdersKey({ from, to, withEmail, allowRemovals }: BackfillOrders): string {
  const options = [...(withEmail ? ['with-email'] : []), ...(allowRemovals ? ['allow-removals'] : [])];
  return ['backfill-orders', from ?? 'first', to ?? 'last', ...options].join('_');
}
