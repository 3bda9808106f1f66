import { isSameCode, isUsableCode, normalText } from '../../base/codes.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { normalCode, type Order } from '../../shop/rows.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import { catalogLinks } from '../../warehouse/orders/catalog-links.ts';
import { type AlikeOrder, alikeOrders, type OrderLink, orderLinks } from '../../warehouse/orders/order-links.ts';
import { productIds } from '../../warehouse/orders/products.ts';
import type { PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { openRequests, type Send } from '../requests.ts';
import { alikeFault, type DesiredOrder, desiredOrder, orderDeadLetter } from './desired-order.ts';
import { isNeverPushed } from './order-memory.ts';

/**
 * An order of the shop, and what is remembered of it. `code`: as its row shows it. An order that cannot be read, or must not
 * be sent, is a dead letter; `isOther`: it is another order than the one that was pushed under its code.
 */
export type ReadOrder = { code: string; raw: RawOrder; link: OrderLink | undefined } & (
  | { order: DesiredOrder; deadLetter?: undefined; isOther: false }
  | { order?: undefined; deadLetter: NewDeadLetter; isOther: boolean }
);

type Deps = Pick<OrderDeps, 'api' | 'db' | 'limits' | 'signal'>;

/**
 * The orders of these codes. The change feed may write a code in another case or form of Unicode than orders.sql, or with
 * spaces: an order that the shop does not show by its code is read by the code that the warehouse remembers, by lower and upper
 * case in both forms, or by the code that a search without case finds. That search reads the whole of orders.sql, and the feed
 * may name orders that orders.sql leaves out, such as drafts: codes without letters that have a case are not searched for.
 *
 * @returns `gone`: codes of which no order is shown. `unknown`: codes that the search did not reach.
 */
export async function readSlice({ shop, db }: Pick<OrderDeps, 'shop' | 'db'>, codes: readonly string[]) {
  const raws = await shop.orders(codes);
  const found = new Set(raws.flatMap(({ order, asked = '' }) => [order.code, asked]));
  const missing = codes.filter((code) => !found.has(code));
  if (missing.length === 0) return { raws, gone: missing, unknown: [] };
  const known = await alikeOrders(db, missing);
  const forms = [
    ...missing
      .flatMap((code) => [normalText(code), normalText(code).normalize('NFD')])
      .flatMap((code) => [code, code.toLowerCase(), code.toUpperCase()]),
    ...known.map(({ code }) => code),
  ];
  const others = await shop.orders([...new Set(forms).difference(new Set(codes))]);
  const isShown = (code: string) => others.some(({ order }) => isSameCode(order.code ?? '', code));
  const links = await orderLinks(db, missing);
  const hasCase = (code: string) => code.toLowerCase() !== code.toUpperCase();
  const strange = missing.filter((code) => hasCase(code) && !isShown(code) && isNeverPushed(links.get(code)));
  const alike = strange.length === 0 ? [] : await shop.codesAlike(strange);
  others.push(...(await shop.orders(alike ?? [])));
  const unknown = alike ? [] : strange;
  return {
    raws: [...raws, ...others.filter(({ order }) => !found.has(order.code))],
    gone: missing.filter((code) => !isShown(code) && !unknown.includes(code)),
    unknown,
  };
}

/**
 * The shop's rows as the service should have them, with the ids that are known so far.
 *
 * @throws the client's errors if an order is to be looked up, and the service as a whole fails.
 */
export async function readOrders(
  deps: Deps,
  raws: readonly RawOrder[],
  { deletes }: Pick<PushRights, 'deletes'>,
): Promise<ReadOrder[]> {
  const { db } = deps;
  const codes = raws.flatMap((raw) => raw.lines.flatMap((line) => normalCode(line.product_code ?? undefined) ?? []));
  const products = await productIds(db, [...new Set(codes.filter(isUsableCode))]);
  const grades = new Map([...(await catalogLinks(db, 'user_grade'))].map(([code, { id }]) => [code, id]));
  const codeOf = ({ order }: RawOrder) => order.code ?? '';
  const links = await orderLinks(db, raws.map(codeOf));
  // An order that the shop has deleted before any push of it is never sent, and goes before no other one.
  const isNever = (raw: RawOrder) => raw.order.deleted_at && isNeverPushed(links.get(codeOf(raw)));
  const alike = await alikeOrders(db, raws.filter((raw) => !isNever(raw)).map(codeOf));
  const alikeOf = Map.groupBy(alike, ({ orderCode }) => orderCode);
  const alikeFaultOf = await alikeFaults(deps, alike, links);
  return raws.map((raw): ReadOrder => {
    const code = codeOf(raw);
    const own = { code, raw, link: links.get(code) };
    const order = desiredOrder(raw, products, grades, deletes);
    if (!('lines' in order)) return { ...own, deadLetter: order, isOther: false };
    const otherFault = otherOrderFault(order.order, own.link);
    const fault = otherFault ?? alikeFaultOf.get(code);
    if (fault === undefined) return { ...own, order: { ...order, alike: alikeOf.get(code) ?? [] }, isOther: false };
    const deadLetter = orderDeadLetter(raw.order, fault, alikeOf.get(code));
    return { ...own, deadLetter, isOther: otherFault !== undefined };
  });
}

/**
 * Why these orders are not sent: the service may confuse them with one that goes before them, or has shown it for them. Asks
 * about all at once, so that an outage costs the time of one.
 *
 * @returns the fault, by code.
 */
async function alikeFaults(
  deps: Deps,
  alike: readonly AlikeOrder[],
  links: ReadonlyMap<string, OrderLink>,
): Promise<Map<string, string>> {
  const read = openRequests(deps);
  const faults = new Map<string, string>();
  const look = async (one: AlikeOrder) => {
    const hasId = (links.get(one.orderCode)?.orderId ?? null) !== null;
    const fault = hasId ? alikeFault(one.code) : await faultUnlessApart(deps.api, read, one);
    if (fault !== undefined) faults.set(one.orderCode, fault);
  };
  await Promise.all(alike.map(look));
  return faults;
}

/**
 * Undefined if the service seems to tell the codes apart: it shows the other order by its id with exactly its code, and no order,
 * or a second one, by this code. A code that may be the form in which a service keeps the other one proves nothing.
 */
async function faultUnlessApart(
  { orders }: OrderDeps['api'],
  read: Send,
  { orderCode, code, orderId, shownCode }: AlikeOrder,
): Promise<string | undefined> {
  // If the service has shown the code, and its id is not known, the look by this code tells.
  if (orderId === null ? shownCode === null : keptForms(orderCode).includes(code)) return alikeFault(code);
  const other = orderId === null ? undefined : await read((options) => orders.get(orderId, options));
  const own = !other || other.kind === 'done' ? await read((options) => orders.getByCode(orderCode, options)) : other;
  // An outage says nothing about the codes.
  if (own.kind === 'failed' && own.failure === 'transient') return own.reason;
  const isOther = !other || (other.kind === 'done' && other.value.code === code);
  const isApart =
    own.kind === 'absent' || (own.kind === 'done' && own.value.code === orderCode && own.value.id !== orderId);
  return isOther && isApart ? undefined : alikeFault(code);
}

/** The forms in which a service may keep a code: without some spaces, marks or accents, composed or not, in one case. */
function keptForms(code: string): string[] {
  const decomposed = code.normalize('NFD');
  const plain = code
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/\s+/g, ' ');
  const forms = [code, normalText(code), decomposed, decomposed.replaceAll(/\p{Mn}/gu, ''), plain];
  return forms.flatMap((form) => [form, form.trim()]).flatMap((form) => [form, form.toLowerCase(), form.toUpperCase()]);
}

/** The codes that the shop does not show. Codes are compared exactly: a column may ignore case. */
export async function missingInShop(shop: Pick<Shop, 'orders'>, codes: readonly string[]): Promise<string[]> {
  if (codes.length === 0) return [];
  const found = new Set((await shop.orders(codes)).map(({ order }) => order.code));
  return codes.filter((code) => !found.has(code));
}

const dayMs = 86_400_000;

/** Whether two dates of creation are those of one order. A corrected SHOP_TIME_ZONE moves a date by less than a day. */
export const isSameCreation = (one: Date, other: Date): boolean => Math.abs(one.getTime() - other.getTime()) <= dayMs;

/**
 * Why the shop's order is another one than the order of the same code that the service has: the shop was numbered again, or
 * has used the number again. Undefined: it is the same one, or the service has not accepted one yet.
 */
export function otherOrderFault({ createdAt }: Order, link: OrderLink | undefined): string | undefined {
  if (link === undefined || link.orderId === null || link.orderedAt === null) return undefined;
  if (isSameCreation(createdAt, link.orderedAt)) return undefined;
  return (
    `the shop's order of this code was created at ${createdAt.toISOString()}, the one that was pushed before at ` +
    `${link.orderedAt.toISOString()}: it is another order, and nothing of it is sent. ` +
    `If it is the same one, run: ${sameOrders}`
  );
}

/** The command by which a person says that the shop's dates are right. */
export const sameOrders = 'review-sync migrate --same-orders';
