import type { App } from '../src/app/app.ts';
import { type DayRange, secondsOf } from '../src/base/time/day-range.ts';
import { planBackfillOrders } from '../src/orders/backfill-orders.ts';
import { stepsOf } from '../src/orders/sync-orders.ts';
import type { OrderPosition } from '../src/shop/orders.ts';
import { waitingLines } from '../src/warehouse/order-revisits.ts';
import { recordShopQueries, settleShopQueries } from '../src/warehouse/shop-queries.ts';
import { defineRun } from './define-run.ts';
import { object, optionalText } from './payload.ts';
import { pushOrders } from './push-orders.ts';

export type BackfillOrders = DayRange & {
  /** Whether customers' e-mail and phone go along (promise 7: only when asked for). */
  withEmail: boolean;
  /** Remove lines and orders even where far more are gone than usual. */
  allowRemovals: boolean;
};

/** On demand: every order created in a range of days. What stands at the service already costs no request. */
export const backfillOrders = defineRun({
  name: 'backfill-orders',
  step: pushOrders,
  priority: 10,
  deadLetters: ['order', 'order_line'],
  parse(payload): BackfillOrders {
    const given = object(payload);
    const withEmail = given.withEmail === true;
    const allowRemovals = given.allowRemovals === true;
    return { ...optionalText(given, 'from'), ...optionalText(given, 'to'), withEmail, allowRemovals };
  },
  async plan(app, payload) {
    const lastQueryChange = await recordShopQueries(app.warehouse.db, await app.shop.queryHashes());
    return planBatch(app, payload, { lastQueryChange });
  },
  async next(app, payload, state, { successes, failures }) {
    const isLost = failures > 0 && successes === 0;
    return state.next === undefined || isLost ? undefined : planBatch(app, payload, state);
  },
  async complete(app, { isAll, lastQueryChange }) {
    const { db } = app.warehouse;
    if (isAll) await settleShopQueries(db, lastQueryChange);
    return { lines_waiting: (await waitingLines(db)).lines };
  },
});

/** Where the next batch begins, and the last change of the queries by which the first one was read. */
type Position = { next?: OrderPosition; lastQueryChange: string | null };

async function planBatch(app: App, payload: BackfillOrders, { next: after, lastQueryChange }: Position) {
  const range = secondsOf(payload, app.config.api.timeZone);
  const { codes, next } = await planBackfillOrders(app.shop, range, app.config.orderBatchSize, after);
  const contact = payload.withEmail ? ('always' as const) : ('never' as const);
  const removals = payload.allowRemovals ? ('all' as const) : ('usual' as const);
  const isAll = payload.from === undefined && payload.to === undefined;
  const state: Position & { isAll: boolean } = { isAll, lastQueryChange, ...(next && { next }) };
  return { steps: stepsOf(codes, { contact, removals }), state };
}

/** One key for one range: a command joins a run of the same key that has not ended. */
export function backfillOrdersKey({ from, to, withEmail, allowRemovals }: BackfillOrders): string {
  const options = [...(withEmail ? ['with-email'] : []), ...(allowRemovals ? ['allow-removals'] : [])];
  return ['backfill-orders', from ?? 'first', to ?? 'last', ...options].join('_');
}
