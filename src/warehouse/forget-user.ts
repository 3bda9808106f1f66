import { type RawBuilder, sql } from 'kysely';
import { foldChanges } from './bi/aggregates.ts';
import type { Db } from './index.ts';

/**
 * Numbers of rows with data of one customer. `contacts`: orders whose e-mail address and phone number may be sent, or
 * of which a fingerprint is stored.
 */
export type UserTraces = {
  reviews: number;
  deadLetters: number;
  webhooks: number;
  orderLines: number;
  contacts: number;
};

export type User = {
  /** The customer's login at the shop, `user_code`. */
  code: string;
  /** Further orders of the customer, beside those that reviews and dead letters name. */
  orders: readonly string[];
};

/** Counts the rows with data of a customer. Changes nothing. */
export async function countTraces(db: Db, user: User): Promise<UserTraces> {
  const { rows } = await sql<UserTraces>`
    with ${ownOrders(user)}
    select
      (select count(*)::integer from warehouse.reviews where ${isOwnReview(user)}) as reviews,
      (select count(*)::integer from sync.dead_letters where ${isOwnDeadLetter(user)}) as "deadLetters",
      (select count(*)::integer from sync.webhook_inbox where ${isOwnWebhook(user)}) as webhooks,
      (select count(*)::integer from sync.sub_order_links
        where order_code in (select code from own) and ${hasPersonalContent}) as "orderLines",
      (select count(*)::integer from sync.order_links
        where order_code in (select code from own) and ${hasFingerprint}) as contacts`.execute(db);
  return rows[0] ?? { reviews: 0, deadLetters: 0, webhooks: 0, orderLines: 0, contacts: 0 };
}

/**
 * Masks the data of a customer, in one transaction: reviews lose author, text, media and order; dead letters and
 * waiting webhooks lose their record and are closed; order lines lose chosen options and parcel number; orders lose the
 * fingerprint, which covers 16 bits of e-mail address and phone number, and are sent without both from then on.
 * Ratings, dates, products and links stay: without the links orders would be pushed a second time.
 *
 * @returns the numbers of rows that were masked.
 */
export async function maskTraces(db: Db, user: User): Promise<UserTraces> {
  const masked = await db.transaction().execute(async (trx) => {
    const traces = await countTraces(trx, user);
    // First, while reviews and dead letters still name the customer's orders.
    await sql`
      with ${ownOrders(user)}
      update sync.sub_order_links
      set content = content || '{"product_options": {}, "invoice": null}'
      where order_code in (select code from own) and ${hasPersonalContent}`.execute(trx);
    await sql`
      with ${ownOrders(user)}
      update sync.order_links set fingerprint = null, contact = 'withheld'
      where order_code in (select code from own) and ${hasFingerprint}`.execute(trx);
    await sql`
      with ${ownOrders(user)}
      update sync.dead_letters set reason = 'forgotten', payload = 'null', resolved_at = coalesce(resolved_at, now())
      where ${isOwnDeadLetter(user)}`.execute(trx);
    await sql`
      update sync.webhook_inbox set body = null, last_error = null, applied_at = coalesce(applied_at, now())
      where ${isOwnWebhook(user)}`.execute(trx);
    await sql`
      update warehouse.reviews
      set user_id = null, user_code = null, user_name = null, message = null, code = null, order_code = null,
        sub_order_code = null, product_options = null, images = null, videos = null, options = null, extra = '{}'
      where ${isOwnReview(user)}`.execute(trx);
    return traces;
  });
  // Until then the log of changes has the order of each masked review.
  await foldChanges(db);
  return masked;
}

const ownOrders = ({ code, orders }: User) => sql`own as (
  select order_code as code from warehouse.reviews where ${isText(sql`user_code`, code)} and order_code is not null
  union
  select order_code from sync.dead_letters where order_code is not null and ${namesCode(code)}
  union
  select unnest(${orders}::text[])
)`;

const spaces = sql`E' \\t\\r\\n'`;

/** Shops pad codes, and write them as numbers. */
const isText = (value: RawBuilder<unknown>, code: string) =>
  sql`btrim(${value}, ${spaces}) = btrim(${code}, ${spaces})`;

const isOwnReview = ({ code }: User) => isText(sql`user_code`, code);

/** A text or number anywhere in the record that is the code and nothing else. */
const namesCode = (code: string) => sql`exists (
  select from jsonb_path_query(payload, '$.** ? (@.type() == "string" || @.type() == "number")') as value
  where ${isText(sql`value #>> '{}'`, code)}
)`;

const isOwnDeadLetter = ({ code }: User) =>
  sql`reason <> 'forgotten' and (${namesCode(code)} or order_code in (select code from own))`;

/** The code as a whole value of the body, which may be no JSON: in quotes, or where a number stands. */
function isOwnWebhook({ code }: User) {
  const pattern = jsonPatternOf(code.trim());
  return sql`body ~ ${`"${jsonSpaces}${pattern}${jsonSpaces}"|[:,[]\\s*${pattern}\\s*[],}]`}`;
}

/** White space in a JSON text, plain or escaped. */
const jsonSpaces = String.raw`(?:\s|\\[trn]|\\u00(?:20|09|0[aA]|0[dD]))*`;

/** A regular expression for a text in JSON, where any character may be escaped: `m` as `\u006d`, `/` as `\/`. */
const jsonPatternOf = (text: string) =>
  [...text]
    .map((character) => {
      const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
      const plain = JSON.stringify(character).slice(1, -1);
      const forms = character === '/' ? [plain, '\\/'] : [plain];
      const escapes = units.map((unit) => `\\\\u${anyCase(unit.toString(16).padStart(4, '0'))}`).join('');
      return `(?:${[...forms.map(inPattern), escapes].join('|')})`;
    })
    .join('');

const anyCase = (hex: string) => hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
const inPattern = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');

const hasPersonalContent = sql`(content -> 'product_options' <> '{}' or content ->> 'invoice' is not null)`;

/** It covers 16 bits of the e-mail address and of the phone number. */
const hasFingerprint = sql`(fingerprint is not null or contact = 'allowed')`;
