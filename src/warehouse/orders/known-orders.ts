import { type Db, rowOf, rowsOf, valuesOf, write } from '../index.ts';

/** Creation in `[from, to)`, as the shop writes instants; codes in `(afterCode, lastCode]`. */
export type KnownRange = Partial<Record<'from' | 'to' | 'afterCode' | 'lastCode', string | undefined>>;

/** Orders read in one statement. */
const pageSize = 1000;

/** Codes of pushed orders in the range, a page at a time, by code, without orders that the service never accepted. */
export async function* knownOrders(db: Db, range: KnownRange): AsyncGenerator<string[], void, undefined> {
  let after = range.afterCode ?? '';
  for (;;) {
    const codes = await valuesOf<string>(db)`
      select order_code from sync.order_links
      where contact is not null and (order_id is not null or pushed_at is null) and order_code > ${after}
        and (${range.lastCode ?? null}::text is null or order_code <= ${range.lastCode ?? null})
        and ordered_at >= ${range.from ?? '-infinity'}::timestamptz
        and ordered_at < ${range.to ?? 'infinity'}::timestamptz
      order by order_code limit ${pageSize}`;
    if (codes.length > 0) yield codes;
    after = codes.at(-1) ?? after;
    if (codes.length < pageSize) return;
  }
}

/** A dozen orders that the service accepted and that are not known to be gone, spread over the history. */
export const ordersOfAllAges = (db: Db) => rowsOf<{ code: string; orderedAt: Date }>(db, 'orders_of_all_ages');

/** A person says that this is the shop of the orders in the warehouse. */
export const recordSameShop = (db: Db) => write(db)`update sync.settings set same_shop_since = clock_timestamp()`;

/** Replaces each pushed date of creation that differs from the given one by a second or more. @returns their number. */
export const setCreations = async (db: Db, orders: readonly { code: string; at: string }[]): Promise<number> =>
  (await rowsOf(db, 'set_creations', JSON.stringify(orders))).length;

/** Remembers whether the shop shows these orders. If an order is already absent, its date stays. */
export const setAbsent = (db: Db, codes: readonly string[], isAbsent: boolean) => write(db)`
  update sync.order_links set absent_since = case when ${isAbsent} then clock_timestamp() end
  where order_code in (
    select order_code from sync.order_links
    where order_code = any(${codes}) and (absent_since is null) = ${isAbsent} order by order_code for update
  )`;

/**
 * Absent orders created since a week before `since`. The absence of older orders is forgotten: a shop may archive them.
 * `hasWaited`: absent for a day, and no failing order may be the same order, renamed. `isNewest`: the shop shows no
 * pushed order that was created then or later.
 */
export async function absentOrders(db: Db, since: string) {
  await write(db)`
    update sync.order_links set absent_since = null where order_code in (
      select order_code from sync.order_links
      where absent_since is not null and ordered_at < ${since}::timestamptz - interval '7 days'
      order by order_code for update
    )`;
  return rowsOf<{ code: string; hasWaited: boolean; isNewest: boolean }>(db, 'absent_orders');
}

/** How many pushed orders the shop no longer shows, and the codes of the newest few. */
export const absenceSummary = (db: Db) => rowOf<{ orders: number; examples: string[] }>(db)`
  select count(*)::integer as orders,
    coalesce((array_agg(order_code order by ordered_at desc, order_code))[1:5], '{}') as examples
  from sync.order_links where absent_since is not null`;
