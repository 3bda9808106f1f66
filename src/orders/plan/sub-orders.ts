import { isDeepStrictEqual } from 'node:util';
import type { SubOrder, SubOrderBody, SubOrderPatch } from '../../review-api/index.ts';
import type { LineLinkRow } from '../../warehouse/orders/order-links.ts';
import { type Line, type SubOrderContent, sentOf } from './desired-order.ts';
import {
  centsAs,
  centsText,
  isSameInAnyCase,
  isSameInvoice,
  isSameSecond,
  isShownAs,
  type MoneyUnit,
  optionsKey,
  optionsText,
} from './same-value.ts';

export type LineLink = LineLinkRow<SubOrderContent>;

/** A creation was sent, or is about to be, and no response has shown its sub-order. */
export const isPending = ({ subOrderId }: LineLink) => subOrderId === null;

/** The service may not show the count: that does not mean that there are no reviews. */
export const mayHaveReviews = ({ reviews_count }: SubOrder) => reviews_count !== 0;

/**
 * A field in which both ends differ. Null: no value. `isShown` false: the service does not show the field, so nobody
 * knows.
 */
export type FieldDifference = { field: string; shop: string | null; service: string | null; isShown: boolean };

/** The sub-order of a line, and what a request changes of it. */
type LineChange = {
  kind: 'change';
  lineCode: string;
  subOrderId: number;
  /** What is remembered of the line once it was sent. */
  content: SubOrderContent;
  /** Fields to send; null clears one. Empty: nothing is sent. */
  body: SubOrderPatch;
  fields: readonly FieldDifference[];
  /** The service does not show the sub-order: all values but the product are sent, and a 404 tells that it is gone. */
  isHidden: boolean;
};
type LineRemoval = { kind: 'remove'; lineCode: string; subOrderId: number };
/** `isSentAgain`: a creation was sent before, and what became of it is not known. */
type LineCreation = { kind: 'create'; lineCode: string; body: SubOrderBody; isSentAgain: boolean };

/** A request about one line. */
export type LineRequest = LineChange | LineRemoval | LineCreation;

/** What to send so that the service's sub-orders of one order are the shop's lines, each once. */
export type SubOrderDifference = {
  /** The lines that have a sub-order. */
  matched: LineChange[];
  /** Lines without one. */
  create: LineCreation[];
  /** Sub-orders of lines that the shop does not have any more, and copies that a repeated creation made. */
  remove: LineRemoval[];
  /** Sub-orders that no line has and that stay, and why, in words for people. */
  keep: { subOrderId: number; why: string }[];
  /**
   * All line links as they are to be written before anything is sent: with found sub-orders, those taken over, and those
   * about to be created.
   */
  links: LineLink[];
};

/**
 * Compares the shop's lines with what the service shows of the order. Pure; it knows nothing of what was sent before
 * but for creations without a response. `match` says which sub-order is a line's.
 *
 * @param shown the sub-orders in the response to `POST /v1/orders` or in the order's detail.
 * @param lines the shop's lines that can be pushed.
 * @param links what is remembered of the order's lines.
 * @param untouched codes of lines that the shop has but that are not pushed now: their sub-orders are not changed.
 * @param isSelected whether the query of the lines selects a column. If the shop has never sent a field, the value that
 *   another integration wrote there stays.
 * @param unit in which the service counts money, see moneyUnitOf.
 */
export function subOrderDifference(
  shown: readonly SubOrder[],
  lines: readonly Line[],
  links: readonly LineLink[],
  untouched: ReadonlySet<string> = new Set(),
  isSelected: (column: string) => boolean = () => true,
  unit?: MoneyUnit,
): SubOrderDifference {
  const matched: LineChange[] = [];
  const create: SubOrderDifference['create'] = [];
  const linkOf = new Map(links.map((link) => [link.lineCode, link]));
  const ids = new Set<number | null>([null, ...shown.map(({ id }) => id)]);
  const isHidden = (own: LineLink | undefined, content: SubOrderContent): own is LineLink & { subOrderId: number } =>
    own !== undefined && !ids.has(own.subOrderId) && isProductOf(own, content);
  // Its own sub-order first: nobody knows whether it is gone.
  const toMatch = lines.filter(({ lineCode, content }) => !isHidden(linkOf.get(lineCode), content));
  const { entries, ofLines, left } = match(shown, toMatch, linkOf, untouched, unit);
  const codes = new Set([...lines.map(({ lineCode }) => lineCode), ...untouched]);
  const gone = links.filter(({ lineCode }) => !codes.has(lineCode));
  // Links of removed lines come first: each is remembered for its sub-order only.
  const copied = (entry: Entry) => [...gone, ...links].find((link) => isCopy(entry, link, entries, unit));
  for (const line of lines) {
    const { lineCode, content } = line;
    const own = linkOf.get(lineCode);
    const hidden = isHidden(own, content) ? hiddenEntry(own) : undefined;
    const found = hidden ?? ofLines.get(lineCode);
    if (!found) {
      const sent = own && isPending(own) ? own : undefined;
      create.push({ kind: 'create', lineCode, body: sentOf(content), isSentAgain: sent !== undefined });
      const idsBefore = sent?.idsBefore ?? shown.map(({ id }) => id);
      linkOf.set(lineCode, { ...line, subOrderId: null, isOurs: true, idsBefore });
      continue;
    }
    const link = found.link ?? own;
    const isOfShop = (field: string) => isSelected(field) || (link !== undefined && hasValue(link.content, field));
    const fields = lineDifferences(content, found, unit).filter(({ field, shop }) => shop !== null || isOfShop(field));
    const body = bodyOf(content, fields);
    const subOrderId = found.one.id;
    matched.push({ kind: 'change', ...line, subOrderId, fields, body, isHidden: hidden !== undefined });
    if (own?.subOrderId !== subOrderId) {
      const { isOurs = false, idsBefore = null, linkedAt } = found.link ?? copied(found) ?? {};
      linkOf.set(lineCode, { ...line, subOrderId, isOurs, idsBefore, linkedAt });
    } else if (fields.length === 0 && !isDeepStrictEqual(own.content, content)) {
      // A request whose response was lost may have changed it, or somebody else.
      linkOf.set(lineCode, { ...own, content });
    }
  }
  for (const lineCode of untouched) {
    const [own, link] = [linkOf.get(lineCode), ofLines.get(lineCode)?.link];
    if (!own || link === own || !ids.has(own.subOrderId) || isPending(own)) continue;
    // The sub-order that it had is exactly as another line: the codes have moved.
    if (link) linkOf.set(lineCode, { ...link, lineCode });
    else linkOf.delete(lineCode);
  }
  return { matched, create, ...retire(left, gone, linkOf, copied), links: [...linkOf.values()] };
}

/**
 * Decides about the sub-orders that no line has. Sub-orders of removed lines, and copies that a repeated creation made,
 * are removed. A sub-order with reviews, or that somebody else created, is not (promise 6). A linked sub-order is remembered
 * until it is removed, by a code of its own: the code of its line may be another line's by now.
 *
 * @param gone links whose line the shop has removed.
 * @param copied finds the watched link, if a repeated creation of its sub-order made this one.
 */
function retire(
  left: ReadonlySet<Entry>,
  gone: readonly LineLink[],
  linkOf: Map<string, LineLink>,
  copied: (entry: Entry) => LineLink | undefined,
): Pick<SubOrderDifference, 'remove' | 'keep'> {
  const remove: SubOrderDifference['remove'] = [];
  const keep: SubOrderDifference['keep'] = [];
  for (const { lineCode } of gone) linkOf.delete(lineCode);
  for (const entry of left) {
    const subOrderId = entry.one.id;
    const link = entry.link ?? copied(entry);
    const isOwn = link?.subOrderId === subOrderId && gone.includes(link);
    const lineCode = isOwn ? link.lineCode : `sub-order ${subOrderId}`;
    if (link && (entry.link || gone.includes(link)))
      linkOf.set(lineCode, isOwn ? link : { ...link, lineCode, subOrderId });
    if (link && mayHaveReviews(entry.one)) keep.push({ subOrderId, why: 'it has, or may have, reviews' });
    else if (!link?.isOurs) keep.push({ subOrderId, why: 'review-sync did not create it' });
    else remove.push({ kind: 'remove', lineCode, subOrderId });
  }
  return { remove, keep };
}

/** Whether a repeated creation for the line of this link made the sub-order. The line itself has another one, or none. */
function isCopy(entry: Entry, link: LineLink, entries: readonly Entry[], unit: MoneyUnit | undefined): boolean {
  if (link.idsBefore === null || link.idsBefore.includes(entry.one.id)) return false;
  const own = entries.find((one) => one.link === link);
  if (!own) return likenessTo(link.content, unit)(entry) === exact;
  // Both went through the same normalising there, so a copy is like the sub-order of the line as the service shows it.
  return own.one.product_id === entry.one.product_id && own.options === entry.options && own.cents === entry.cents;
}

/** A sub-order, with the link that leads to it. Its options and its price in a form that can be compared. */
type Entry = { one: SubOrder; link: LineLink | undefined; options: string; cents: bigint | undefined };

/** Nothing of it is known: whether it has another product by now, or reviews. */
const hiddenEntry = (link: LineLink & { subOrderId: number }): Entry => {
  const one = { id: link.subOrderId, product_id: null, price: null } as SubOrder;
  return { one, link, options: '', cents: undefined };
};

/**
 * Gives each line the sub-order that fits it best, by `rankOf`.
 *
 * @returns `left`: sub-orders that no line has.
 */
function match(
  shown: readonly SubOrder[],
  lines: readonly Line[],
  linkOf: ReadonlyMap<string, LineLink>,
  untouched: ReadonlySet<string>,
  unit: MoneyUnit | undefined,
) {
  const linkOfId = new Map([...linkOf.values()].map((link) => [link.subOrderId, link]));
  // A sub-order that the response shows twice, as by a join, is no copy.
  const entries = [...new Map(shown.map((one) => [one.id, one])).values()].map((one): Entry => {
    const cents = one.price === null ? undefined : BigInt(one.price.cents);
    return { one, link: linkOfId.get(one.id), options: optionsKey(one.product_options ?? {}), cents };
  });
  const contentOf = new Map(lines.map(({ lineCode, content }) => [lineCode, content]));
  const pairs = [...contentOf.keys(), ...untouched].flatMap((lineCode) => {
    const rank = rankOf(lineCode, contentOf, linkOf.get(lineCode), unit);
    const all = entries.map((entry) => ({ lineCode, entry, rank: rank(entry) })).filter((pair) => pair.rank < never);
    // No other line can have what is exactly its own. An order of thousands of lines would have millions of pairs.
    const own = all.find((pair) => pair.rank === 0);
    return own ? [own] : all;
  });
  const left = new Set(entries);
  const ofLines = new Map<string, Entry>();
  for (const { lineCode, entry, rank } of pairs.sort((a, b) => a.rank - b.rank)) {
    if (ofLines.has(lineCode) || !left.delete(entry)) continue;
    ofLines.set(lineCode, entry);
    // It stays watched: the creation may have been sent twice, and both responses lost.
    if (rank < foreign) entry.link ??= linkOf.get(lineCode);
  }
  return { entries, ofLines, left };
}

/**
 * How well a sub-order fits a line: the lower the better; `never` if it is not the line's.
 *
 * - 0: the sub-order is the line's own by its link, and exactly as the line. 1: it is exactly as the line, and linked to
 *   another line: the shop's line codes may be positions, which move when a line is removed or inserted. 2 and 3: the same
 *   with another price: the shop may have shared the price out again.
 * - 4: the sub-order is the line's own, and is changed, or the line is not pushed now. 5: it is linked to another line, which
 *   gets another sub-order, and is changed.
 * - 6 to 8: the response of the line's creation was lost; the sub-order was not there before, and is as it was sent.
 * - 9 and more: the sub-order is linked to a line that the shop has removed (shops give lines new codes). If two are
 *   equally like the line, the one that somebody else created comes last.
 *
 * A sub-order that may have reviews gets no other product.
 *
 * @param contentOf of the lines by their codes. A line without is not pushed now, and keeps what it has.
 */
function rankOf(
  lineCode: string,
  contentOf: ReadonlyMap<string, SubOrderContent>,
  link: LineLink | undefined,
  unit: MoneyUnit | undefined,
) {
  const content = contentOf.get(lineCode);
  const isLinked = link !== undefined && !isPending(link);
  const likeness = content && likenessTo(content, unit);
  const sentLikeness = link && isPending(link) ? likenessTo(link.content, unit) : undefined;
  const mayBeLost = (entry: Entry) =>
    !entry.link &&
    !link?.idsBefore?.includes(entry.one.id) &&
    (content === undefined || mayBecome({ ...entry, link }, content));
  return (entry: Entry): number => {
    const like = likeness?.(entry);
    const isOwn = entry.link !== undefined && entry.link === link;
    // A line without a link may have moved, too. It takes nothing of a line that is not pushed now.
    const mayMove = entry.link && (link ? isLinked : contentOf.has(entry.link.lineCode));
    if (mayMove && (like === exact || like === 1)) return 2 * like + (isOwn ? 0 : 1);
    if (isOwn && (content === undefined || mayBecome(entry, content))) return 4;
    if (isLinked && entry.link && contentOf.has(entry.link.lineCode) && !mayHaveReviews(entry.one)) return 5;
    const sentLike = sentLikeness?.(entry);
    if (sentLike !== undefined && (content || sentLike === exact) && mayBeLost(entry)) return 6 + sentLike;
    return like === undefined ? never : foreign + 2 * like + (entry.link ? 0 : 1);
  };
}

/** A sub-order that may have reviews gets no other product (promise 6). */
const mayBecome = (entry: Entry, content: SubOrderContent) =>
  !mayHaveReviews(entry.one) || !isOtherProduct(entry, content);

const exact = 0;
const foreign = 9;
const never = Number.POSITIVE_INFINITY;

/**
 * How like a line a sub-order is. 0, `exact`: product, options and price agree. 1: the product and the options. 2: the
 * product and the price: the service, or another integration, may read prices or options in its own way. The product alone
 * is never enough: sizes S and M of one product would be taken for each other.
 */
function likenessTo(content: SubOrderContent, unit: MoneyUnit | undefined) {
  const options = optionsKey(content.product_options);
  const amounts = new Set<bigint | undefined>(centsAs(content.price, unit));
  return (entry: Entry): 0 | 1 | 2 | undefined => {
    if (entry.one.product_id === null || isOtherProduct(entry, content)) return undefined;
    const hasPrice = amounts.has(entry.cents);
    if (entry.options === options) return hasPrice ? exact : 1;
    return hasPrice ? 2 : undefined;
  };
}

/** The product's id has changed although its code has not: it was registered again at the service. */
const isRegisteredAgain = (link: LineLink | undefined, { product_code }: SubOrderContent) =>
  product_code !== undefined && product_code === link?.content.product_code;

const isProductOf = (link: LineLink, content: SubOrderContent) =>
  link.content.product_id === content.product_id || isRegisteredAgain(link, content);

/**
 * The product of a sub-order. If the service has deleted it, the one that was sent last: another product corrects that, the
 * same one does not. Undefined: nobody knows.
 */
const productOf = ({ one, link }: Entry) => one.product_id ?? link?.content.product_id;

const isOtherProduct = (entry: Entry, content: SubOrderContent) => {
  const product = productOf(entry);
  return product !== undefined && product !== content.product_id && !isRegisteredAgain(entry.link, content);
};

/** The fields in which a sub-order differs from what the shop wants, and those that the service does not show. */
function lineDifferences(ours: SubOrderContent, found: Entry, unit: MoneyUnit | undefined): FieldDifference[] {
  const theirs = found.one;
  const options = theirs.product_options;
  // Reviews stay with the product that they were written about, which is the same one.
  const keepsProduct = isRegisteredAgain(found.link, ours) && mayHaveReviews(theirs);
  const product = productOf(found);
  const all: (FieldDifference | undefined)[] = [
    product === undefined || keepsProduct
      ? undefined
      : fieldDifference('product_id', String(ours.product_id), String(product)),
    fieldDifference('price', ours.price, theirs.price === null ? undefined : centsText(theirs.price), () =>
      isShownAs(theirs.price, ours.price, unit),
    ),
    // If the shop has no status, the service shows one of its own.
    ours.status ? fieldDifference('status', ours.status, theirs.status) : undefined,
    fieldDifference('delivery_started_at', ours.delivery_started_at, theirs.delivery_started_at, isSameSecond),
    fieldDifference('delivered_at', ours.delivered_at, theirs.delivered_at, isSameSecond),
    fieldDifference('invoice', ours.invoice, theirs.invoice, isSameInvoice),
    fieldDifference('delivery_service', ours.delivery_service, theirs.delivery_service),
    fieldDifference(
      'product_options',
      optionsText(ours.product_options),
      options && optionsText(options),
      () => optionsKey(options ?? {}) === optionsKey(ours.product_options),
    ),
  ];
  return all.filter((one) => one !== undefined);
}

/**
 * Undefined if both ends say the same, or if the shop has no value and the service shows none.
 *
 * @param theirs undefined: the response lacks the field.
 */
export function fieldDifference(
  field: string,
  ours: string | null | undefined,
  theirs: string | null | undefined,
  isSame: (theirs: string | null, ours: string | null) => boolean = isSameInAnyCase,
): FieldDifference | undefined {
  const [shop, service] = [ours || null, theirs || null];
  if (theirs === undefined) return shop === null ? undefined : { field, shop, service, isShown: false };
  return isSame(service, shop) ? undefined : { field, shop, service, isShown: true };
}

const hasValue = (content: SubOrderContent, field: string): boolean =>
  field === 'product_options'
    ? optionsText(content.product_options) !== null
    : Boolean(content[field as keyof SubOrderContent]);

/** The body of a request that changes these fields. A field without a value is emptied. */
function bodyOf(content: SubOrderContent, fields: readonly FieldDifference[]): SubOrderPatch {
  const { product_options: options } = content;
  const wanted: SubOrderPatch = { ...content, product_options: Object.keys(options).length === 0 ? null : options };
  return sentOf(Object.fromEntries(fields.map(({ field }) => [field, wanted[field as keyof SubOrderPatch] ?? null])));
}
