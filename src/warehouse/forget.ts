import { sql } from 'kysely';
import { recount } from './bi/recount.ts';
import { type Db, listOf, rowsOf, valuesOf, write } from './index.ts';
import { authorColumns } from './reviews/review-columns.ts';

/** The person to forget: a customer, the customer of some orders, or both. */
export type Whose = {
  /** The customer's login at the shop, `user_code`. Undefined: a guest, or unknown. */
  userCode?: string | undefined;
  /** Orders of the customer, in addition to the orders in the customer's reviews and dead letters. */
  orders: readonly string[];
};

/** The records with data of one customer. */
export type Traces = {
  /** The customer's reviews. */
  reviews: { id: number; userCode: string | null; orderCode: string | null }[];
  /** Reviews of others that the customer commented on. */
  comments: number[];
  deadLetters: { id: number; kind: string; key: string }[];
  /** Orders with chosen options or a parcel number in `lines` lines. */
  orderLines: { orderCode: string; lines: number }[];
  /** Orders with contact that may be sent, or with a stored fingerprint. */
  contacts: string[];
  /** Named orders without any stored record: mistyped, or not pushed yet. They can still be pushed. */
  unknown: string[];
};

/** The reason of a dead letter with a masked record. */
const forgotten = 'the record was masked by forget; the next attempt reads it again';
const forgottenKept =
  'the record was masked by forget; the service keeps a value of the order that the shop cleared: ' +
  'clear it there by hand, then discard this dead letter';

/** Finds the records of a customer by their `user_code` and their order, never by another value. */
export async function findTraces(db: Db, whose: Whose): Promise<Traces> {
  // A service may show the code of a review's order in another case or without its spaces.
  const isOfOrder = sql`
    order_code = any(${whose.orders}) or sync.code_key(order_code) in (select sync.code_key(code) from unnest(${whose.orders}::text[]) as code)
      and not exists (select from sync.order_links l where l.order_code = r.order_code)`;
  const reviews = await listOf<Traces['reviews'][number]>(db)`
    select id, user_code as "userCode", order_code as "orderCode" from warehouse.reviews r
    where ${isCode('user_code', whose.userCode)} or ${isOfOrder}
    order by id`;
  const comments = await valuesOf<number>(db)`
    select distinct review_id from warehouse.review_comments
    where ${isCode('user_code', whose.userCode)} order by review_id`;
  type Open = Traces['deadLetters'][number] & { orderCode: string | null; isOwn: boolean };
  const masked = [forgotten, forgottenKept];
  const open = await rowsOf<Open>(db, 'dead_letters_of_customer', whose.userCode ?? null, whose.orders, masked);
  const own = new Set(whose.orders);
  const ofUser = open.filter((one) => one.isOwn);
  for (const { orderCode } of [...reviews, ...ofUser]) if (orderCode !== null) own.add(orderCode);
  const asPushed = await valuesOf<string>(db)`
    select order_code from sync.order_links join unnest(${reviews.flatMap((one) => one.orderCode ?? [])}::text[]) as code
      on sync.code_key(order_code) = sync.code_key(code)
    where not exists (select from sync.order_links where order_code = code)`;
  for (const code of asPushed) own.add(code);
  const orders = [...own];
  const orderLines = await listOf<Traces['orderLines'][number]>(db)`
    select order_code as "orderCode", count(*)::integer as lines from sync.sub_order_links
    where order_code = any(${orders}) and (content -> 'product_options' <> '{}' or content ->> 'invoice' is not null)
    group by order_code order by order_code`;
  const contacts = await valuesOf<string>(db)`
    select order_code from sync.order_links
    where order_code = any(${orders}) and (fingerprint is not null or contact is distinct from 'forgotten')
    order by order_code`;
  const pushed = await valuesOf<string>(db)`
    select order_code from sync.order_links where order_code = any(${whose.orders})`;
  const known = new Set([...pushed, ...[...reviews, ...open].map(({ orderCode }) => orderCode)]);
  return {
    reviews,
    comments,
    deadLetters: open
      .filter((one) => one.isOwn || (one.orderCode !== null && own.has(one.orderCode)))
      .map(({ id, kind, key }) => ({ id, kind, key })),
    orderLines,
    contacts,
    unknown: whose.orders.filter((code) => !known.has(code)),
  };
}

/**
 * Masks the records of a customer, in one transaction: reviews lose author, text, media and order; comments their
 * fields; dead letters record and reason; order lines chosen options and parcel number; orders the fingerprint, which
 * covers 16 bits of e-mail address and phone number. No later push sends contact. Ratings, dates, products and links
 * stay: without the links, orders would be pushed a second time. A dead letter stays open, because its record is not
 * synced, and keeps the fields that later pushes need (`other_code`, `kept`).
 *
 * @returns the records that were masked.
 */
export async function maskTraces(db: Db, whose: Whose): Promise<Traces> {
  const traces = await db.transaction().execute(async (trx) => {
    const found = await findTraces(trx, whose);
    const reviews = found.reviews.map(({ id }) => id);
    const orders = [...found.contacts, ...found.orderLines.map(({ orderCode }) => orderCode)];
    // Takes locks in the order of a push and a page of reviews, which may run meanwhile: first the orders and reviews,
    // each in order.
    await write(trx)`select from sync.order_links where order_code = any(${orders}) order by order_code for update`;
    await write(trx)`
      insert into sync.touches (record, dated_at, product_id, order_code)
      select 'review', created_at, product_id, order_code from warehouse.reviews
      where id = any(${[...reviews, ...found.comments]}) order by id for update`;
    await write(trx)`
      update warehouse.reviews
      set extra = jsonb_set(extra, '{comments}', (
        select jsonb_agg(
          case when ${isCode("item ->> 'user_code'", whose.userCode)} then '{"forgotten": true}' else item end order by place
        )
        from jsonb_array_elements(extra -> 'comments') with ordinality as list (item, place)
      ))
      where id = any(${found.comments})`;
    await write(trx)`
      update warehouse.reviews set ${sql.join(emptied)}, extra = '{}' where id = any(${reviews})`;
    await write(trx)`delete from sync.comments_due where review_id = any(${reviews})`;
    await write(trx)`
      update sync.dead_letters set
        reason = case when is_discarded then reason when kind = 'order' and payload ? 'kept' then ${forgottenKept} else ${forgotten} end,
        payload = case when kind = 'order' and payload ?| '{other_code,kept}'
          then jsonb_strip_nulls(jsonb_build_object('other_code', payload -> 'other_code', 'kept', payload -> 'kept')) else 'null' end
      where id = any(${found.deadLetters.map(({ id }) => id)})`;
    await write(trx)`
      update sync.sub_order_links set content = content || '{"product_options": {}, "invoice": null}'
      where order_code = any(${found.orderLines.map(({ orderCode }) => orderCode)})`;
    // A push under way has already read the contact and the decision. It loses its lease, and the next push begins when
    // the lease ends.
    await write(trx)`
      update sync.order_links set fingerprint = null, contact = 'forgotten', lease_owner = case when lease_owner is not null then 'forget' end
      where order_code = any(${found.contacts})`;
    return found;
  });
  // Until this count, the touches name the order of each masked review.
  await recount(db);
  // The planner's statistics keep frequent values.
  await write(db)`analyze warehouse.reviews, sync.dead_letters, sync.sub_order_links, sync.order_links`;
  return traces;
}

/** Empties the number of comments, too: if a service still shows a comment, the comments are read again. */
const emptied = [...Object.keys(authorColumns), 'comments_count'].map((column) => sql`${sql.ref(column)} = null`);

const spaces = sql`E' \\t\\r\\n'`;

/** Whether an SQL expression equals the code. Shops pad codes. */
const isCode = (expression: string, code: string | undefined) =>
  sql`btrim(${sql.raw(expression)}, ${spaces}) = btrim(${code ?? null}, ${spaces})`;
