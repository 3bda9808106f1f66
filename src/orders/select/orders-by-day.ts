import type { OpenSpan } from '../../base/time/day-range.ts';
import { isoOf } from '../../base/time/span.ts';
import type { OrderPage, OrderPosition } from '../../shop/orders.ts';
import { knownOrders, setAbsent } from '../../warehouse/orders/known-orders.ts';
import { slicesOf } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { missingInShop } from '../plan/read-orders.ts';

/** Orders that a run plans at a time, and where it goes on. */
export type Batch<State> = { codes: string[]; state: State };

/** The position from which a walk by day of creation goes on; without `next` it has ended. */
export type WalkState = { next?: OrderPosition | undefined };

/**
 * One batch of a walk over the orders created in the range, as a backfill and the nightly rescan read them. Marks
 * pushed orders of the batch's span as absent if the shop no longer shows them, and as present if it shows them again.
 */
export async function walkOrders<State extends WalkState>(
  { shop, db }: Pick<OrderDeps, 'shop' | 'db'>,
  range: OpenSpan,
  size: number,
  state: State,
): Promise<Batch<State>> {
  const { next: after = startOf(range) } = state;
  const { keys, next } = await codesByCreation(shop, range, size, after);
  const stretch = isWhole(range)
    ? { afterCode: after.code, lastCode: next?.code }
    : { from: after.at, to: next?.at ?? boundsOf(range).to };
  const shown = new Set(keys.map(({ code }) => code));
  for await (const known of knownOrders(db, stretch)) {
    const absent = known.filter((code) => !shown.has(code));
    await setAbsent(db, await missingInShop(shop, absent), true);
  }
  await setAbsent(db, [...shown], false);
  return { codes: [...shown], state: { ...state, next } };
}

/** The two ends of a range as the shop and the warehouse write instants. */
export const boundsOf = ({ start, end }: OpenSpan) => ({
  from: start === undefined ? undefined : isoOf(start),
  to: end === undefined ? undefined : isoOf(end),
});

const startOf = (range: OpenSpan): OrderPosition => ({ at: boundsOf(range).from ?? '-infinity', code: '' });

const isWhole = ({ start, end }: OpenSpan) => start === undefined && end === undefined;

/** One page of codes of the orders created in the range, by date of creation. If the range is all orders, by code. */
const codesByCreation = (
  shop: Pick<OrderDeps['shop'], 'orderCodes'>,
  range: OpenSpan,
  size: number,
  after: OrderPosition,
): Promise<OrderPage> =>
  shop.orderCodes({ axis: isWhole(range) ? 'code' : 'created', after, before: boundsOf(range).to, size });

const codesAtOnce = 5000;

/** The shop's orders created in the range, a slice at a time, as they are when their slice is read. */
export async function* ordersByCreation(shop: Pick<OrderDeps['shop'], 'orderCodes' | 'orders'>, range: OpenSpan) {
  for (let after: OrderPosition | undefined = startOf(range); after !== undefined; ) {
    const page = await codesByCreation(shop, range, codesAtOnce, after);
    const codes = page.keys.map(({ code }) => code);
    yield* inSlices(shop, codes);
    after = page.next;
  }
}

/** The shop's orders of these codes, a slice at a time. */
export async function* inSlices(shop: Pick<OrderDeps['shop'], 'orders'>, codes: readonly string[]) {
  for (const slice of slicesOf(codes)) yield await shop.orders(slice);
}
