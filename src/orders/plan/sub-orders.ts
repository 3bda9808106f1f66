import { isDeepStrictEqual } from 'node:util';
import type { SubOrder, SubOrderBody, SubOrderPatch } from '../../review-api/index.ts';
import type { LineLinkRow } from '../../warehouse/orders/order-links.ts';
import { type Line, type SubOrderContent, sentOf } from './desired-order.ts';
import {
  centsAs,
  differencesOfShop,
  type FieldDifference,
  fieldDifference,
  isSameInAnyCase,
  isSameInvoice,
  isSameSecond,
  type MoneyUnit,
  moneyDifference,
  optionsKey,
  optionsText,
} from './same-value.ts';

export type LineLink = LineLinkRow<SubOrderContent>;

/** A creation was sent, or is about to be, and no response has shown its sub-order. */
export const isPending = ({ subOrderId }: LineLink) => subOrderId === null;

/** If the service does not show the count, there may be reviews. */
export const mayHaveReviews = ({ reviews_count }: SubOrder) => reviews_count !== 0;

/** The sub-order of a line, and the changes that a request makes. */
type LineChange = {
  kind: 'change';
  lineCode: string;
  subOrderId: number;
  /** What the link remembers once the change was sent. */
  content: SubOrderContent;
  /** Fields to send; null clears a field. Empty: nothing is sent. */
  body: SubOrderPatch;
  fields: readonly FieldDifference[];
  /** The service does not show the sub-order. All values but the product are sent, and a 404 tells that it is gone. */
  isHidden: boolean;
};
type LineRemoval = { kind: 'remove'; lineCode: string; subOrderId: number };
/** `isSentAgain`: a creation was sent before, and its outcome is unknown. */
type LineCreation = { kind: 'create'; lineCode: string; body: SubOrderBody; isSentAgain: boolean };

export type LineRequest = LineChange | LineRemoval | LineCreation;

/**
 * What to send so that each line of an order has one sub-order at the service. `matched`: lines that have a sub-order.
 * `keep`: sub-orders without a line that stay, and why, for people to read. `links`: all line links, to be written
 * before anything is sent. They include sub-orders that were found, taken over, or are about to be created.
 */
export type SubOrderDifference = ReturnType<typeof subOrderDifference>;

/**
 * Compares the shop's lines with the sub-orders that the service shows. Pure.
 *
 * 1. `matchLines` says which sub-order is a line's. A linked sub-order that the service does not show stays with its
 *    line: it may not be gone.
 * 2. A line with a sub-order is changed, a line without one is created.
 * 3. A line that is not pushed now keeps its link, unless its sub-order went to another line.
 * 4. `retire` decides about the sub-orders that no line has.
 *
 * @param lines the shop's lines that can be pushed.
 * @param by.untouched codes of lines of the shop that are not pushed now. Their sub-orders are not changed.
 * @param by.isSelected whether the query of the lines selects a column. If it does not, and we never sent the field, a
 *   value that another integration wrote there stays.
 * @param by.unit the money unit of the service (`moneyUnitOf`).
 */
export function subOrderDifference(
  shown: readonly SubOrder[],
  lines: readonly Line[],
  links: readonly LineLink[],
  by: { untouched?: ReadonlySet<string>; isSelected?: (column: string) => boolean; unit?: MoneyUnit } = {},
) {
  const { untouched = new Set(), isSelected = () => true, unit } = by;
  const matched: LineChange[] = [];
  const create: LineCreation[] = [];
  const before = new Map(links.map((link) => [link.lineCode, link]));
  const after = new Map(before);
  const ids = new Set(shown.map(({ id }) => id));
  const hiddenOf = ({ lineCode, content }: Line): Candidate | undefined => {
    const link = before.get(lineCode);
    if (!link || link.subOrderId === null || ids.has(link.subOrderId)) return undefined;
    // Nobody knows whether the sub-order now has another product, or reviews.
    const subOrder = { id: link.subOrderId, product_id: null, price: null } as SubOrder;
    const hidden = { subOrder, link, options: '', cents: undefined };
    return isOtherProduct(hidden, content) ? undefined : hidden;
  };
  const toMatch = lines.filter((line) => !hiddenOf(line));
  const { candidates, ofLines, left } = matchLines(shown, toMatch, before, untouched, unit);
  const codes = new Set([...lines.map(({ lineCode }) => lineCode), ...untouched]);
  const gone = links.filter(({ lineCode }) => !codes.has(lineCode));
  // Links of removed lines come first: they are remembered only for their sub-orders.
  const copied = (candidate: Candidate) =>
    [...gone, ...links].find((link) => isCopy(candidate, link, candidates, unit));

  for (const line of lines) {
    const { lineCode, content } = line;
    const own = before.get(lineCode);
    const hidden = hiddenOf(line);
    const found = hidden ?? ofLines.get(lineCode);
    if (!found) {
      const pending = own && isPending(own) ? own : undefined;
      create.push({ kind: 'create', lineCode, body: sentOf(content), isSentAgain: pending !== undefined });
      after.set(lineCode, { ...line, subOrderId: null, isOurs: true, idsBefore: pending?.idsBefore ?? [...ids] });
      continue;
    }
    const fields = lineDifferences(content, found, found.link ?? own, isSelected, unit);
    const subOrderId = found.subOrder.id;
    const body = bodyOf(content, fields);
    matched.push({ kind: 'change', ...line, subOrderId, fields, body, isHidden: hidden !== undefined });
    // Until the change is carried out, the link keeps what was last sent.
    const sent = fields.length > 0 && found.link ? found.link.content : content;
    if (own?.subOrderId === subOrderId && isDeepStrictEqual(own.content, sent)) continue;
    const { isOurs = false, idsBefore = null, linkedAt } = found.link ?? copied(found) ?? {};
    after.set(lineCode, { lineCode, content: sent, subOrderId, isOurs, idsBefore, linkedAt });
  }

  for (const lineCode of untouched) {
    const own = before.get(lineCode);
    const link = ofLines.get(lineCode)?.link;
    if (!own || link === own || own.subOrderId === null || !ids.has(own.subOrderId)) continue;
    // Its sub-order went to another line, which equals it, perhaps but for the price: the codes have moved.
    if (link) after.set(lineCode, { ...link, lineCode });
    else after.delete(lineCode);
  }
  return { matched, create, ...retire(left, gone, after, copied), links: [...after.values()] };
}

/**
 * Decides about the sub-orders that no line has. Sub-orders of removed lines, and copies that a repeated creation made,
 * are removed. Sub-orders that review-sync did not create, or that may have reviews, are kept (promise 6). A linked
 * sub-order is remembered until it is removed, by a code of its own if its line code may now be another line's.
 *
 * @param gone links of lines that the shop has removed.
 * @param after the links to be written, which this changes.
 * @param copied finds the link of the repeated creation that made this sub-order.
 */
function retire(
  left: ReadonlySet<Candidate>,
  gone: readonly LineLink[],
  after: Map<string, LineLink>,
  copied: (candidate: Candidate) => LineLink | undefined,
) {
  const remove: LineRemoval[] = [];
  const keep: { subOrderId: number; why: string }[] = [];
  for (const { lineCode } of gone) after.delete(lineCode);
  for (const candidate of left) {
    const subOrderId = candidate.subOrder.id;
    const link = candidate.link ?? copied(candidate);
    const isOwn = link?.subOrderId === subOrderId && gone.includes(link);
    const lineCode = isOwn ? link.lineCode : `sub-order ${subOrderId}`;
    if (link && (candidate.link || gone.includes(link)))
      after.set(lineCode, isOwn ? link : { ...link, lineCode, subOrderId });
    if (link && mayHaveReviews(candidate.subOrder)) keep.push({ subOrderId, why: 'it has, or may have, reviews' });
    else if (!link?.isOurs) keep.push({ subOrderId, why: 'review-sync did not create it' });
    else remove.push({ kind: 'remove', lineCode, subOrderId });
  }
  return { remove, keep };
}

/** A sub-order that may be a line's, and the link that leads to it. `options`, `cents`: in a form that can be compared. */
type Candidate = { subOrder: SubOrder; link: LineLink | undefined; options: string; cents: bigint | undefined };

/** Gives each line the sub-order that fits it best, by `rankOf`. @returns `left`: sub-orders that no line has. */
function matchLines(
  shown: readonly SubOrder[],
  lines: readonly Line[],
  linkOf: ReadonlyMap<string, LineLink>,
  untouched: ReadonlySet<string>,
  unit: MoneyUnit,
) {
  if (shown.length === 0) return { candidates: [], ofLines: new Map<string, Candidate>(), left: new Set<Candidate>() };
  const linkOfId = new Map([...linkOf.values()].map((link) => [link.subOrderId, link]));
  // If the response shows a sub-order twice, as a join may do, it is no copy.
  const candidates = [...new Map(shown.map((one) => [one.id, one])).values()].map((subOrder): Candidate => {
    const cents = subOrder.price === null ? undefined : BigInt(subOrder.price.cents);
    const options = optionsKey(subOrder.product_options ?? {});
    return { subOrder, link: linkOfId.get(subOrder.id), options, cents };
  });
  const contentOf = new Map(lines.map(({ lineCode, content }) => [lineCode, content]));
  const left = new Set(candidates);
  const ofLines = new Map<string, Candidate>();
  // Most lines have a sub-order after the first pass. With all ranks at once, an order of thousands of lines would have
  // millions of pairs.
  for (const most of [ranks.own, Number.MAX_VALUE]) {
    const waiting = [...contentOf.keys(), ...untouched].filter((lineCode) => left.size > 0 && !ofLines.has(lineCode));
    const pairs = waiting.flatMap((lineCode) => {
      const rank = rankOf(lineCode, contentOf, linkOf.get(lineCode), unit);
      const all = [...left].map((candidate) => ({ lineCode, candidate, rank: rank(candidate) }));
      return all.filter((pair) => pair.rank <= most);
    });
    for (const { lineCode, candidate, rank } of pairs.sort((a, b) => a.rank - b.rank)) {
      if (ofLines.has(lineCode) || !left.delete(candidate)) continue;
      ofLines.set(lineCode, candidate);
      // The creation may have been sent twice, with both responses lost. The link keeps looking for another copy.
      if (rank >= ranks.lost && rank < ranks.like) candidate.link = linkOf.get(lineCode);
    }
  }
  return { candidates, ofLines, left };
}

const exact = 0;
const butPrice = 1;
const butOptions = 2;

/**
 * How well a sub-order fits a line. Lower is better.
 *
 * - `linked`: it is linked, and equals the line exactly (0 and 1), or in all but the price (2 and 3): the shop may have
 *   divided the total again among its lines. It is linked to the line itself (0 and 2), or to another line (1 and 3):
 *   line codes may be positions, which move when a line is removed or inserted.
 * - `own`: it is linked to the line. It is changed, or left as it is if the line is not pushed now.
 * - `ofAnother`: it has no reviews, and is linked to another line, which gets another sub-order. It is changed.
 * - `lost`, up to 8 by likeness: the response to the line's creation was lost. The sub-order was not there before, and
 *   is like the line that was sent.
 * - `like`, up to 14 by likeness: it is linked to a line that the shop has removed, since shops give lines new codes
 *   (9, 11, 13), or it has no link, as if another system created it (10, 12, 14).
 * - `unfit`: it does not belong to the line.
 */
const ranks = { linked: 0, own: 4, ofAnother: 5, lost: 6, like: 9, unfit: Number.POSITIVE_INFINITY } as const;

/** Returns the rank of a sub-order for a line. A line without content is not pushed now, and keeps what it has. */
function rankOf(lineCode: string, contentOf: ReadonlyMap<string, SubOrderContent>, link?: LineLink, unit?: MoneyUnit) {
  const content = contentOf.get(lineCode);
  const isLinked = link !== undefined && !isPending(link);
  const likenessToLine = content && likenessTo(content, unit);
  const likenessToSent = link && !isLinked ? likenessTo(link.content, unit) : undefined;
  const mayBeLost = (candidate: Candidate) =>
    !candidate.link &&
    !link?.idsBefore?.includes(candidate.subOrder.id) &&
    (content === undefined || mayBecome({ ...candidate, link }, content));
  return (candidate: Candidate): number => {
    const likeness = likenessToLine?.(candidate);
    const isOwn = candidate.link !== undefined && candidate.link === link;
    const isOfPushedLine = candidate.link !== undefined && contentOf.has(candidate.link.lineCode);
    // A line without a link may have moved, too. It does not take the sub-order of a line that is not pushed now.
    const mayMove = candidate.link && (link ? isLinked : isOfPushedLine);
    if (mayMove && (likeness === exact || likeness === butPrice)) return ranks.linked + 2 * likeness + (isOwn ? 0 : 1);
    if (isOwn && (content === undefined || mayBecome(candidate, content))) return ranks.own;
    if (isLinked && isOfPushedLine && !mayHaveReviews(candidate.subOrder)) return ranks.ofAnother;
    // If the service has deleted the product that was sent, it shows none.
    const toSent = likenessToSent?.(candidate.subOrder.product_id === null ? { ...candidate, link } : candidate);
    if (toSent !== undefined && (content || toSent === exact) && mayBeLost(candidate)) return ranks.lost + toSent;
    return likeness === undefined ? ranks.unfit : ranks.like + 2 * likeness + (candidate.link ? 0 : 1);
  };
}

/** A sub-order that may have reviews gets no other product (promise 6). */
const mayBecome = (candidate: Candidate, content: SubOrderContent) =>
  !mayHaveReviews(candidate.subOrder) || !isOtherProduct(candidate, content);

/**
 * How well a sub-order agrees with a line: in product, options and price (`exact`), in all but the price, or in all but
 * the options. The service, or another integration, may read prices or options in its own way. Undefined: not at all.
 * The product alone is never enough: sizes S and M of one product would be confused.
 */
function likenessTo(content: SubOrderContent, unit: MoneyUnit) {
  const options = optionsKey(content.product_options);
  const amounts = new Set<bigint | undefined>(centsAs(content.price, unit));
  return (candidate: Candidate): typeof exact | typeof butPrice | typeof butOptions | undefined => {
    if (productOf(candidate) === undefined || isOtherProduct(candidate, content)) return undefined;
    const hasPrice = amounts.has(candidate.cents);
    if (candidate.options === options) return hasPrice ? exact : butPrice;
    return hasPrice ? butOptions : undefined;
  };
}

/** Whether a repeated creation for the line of this link made the sub-order. The line has another one, or none. */
function isCopy(candidate: Candidate, link: LineLink, candidates: readonly Candidate[], unit: MoneyUnit) {
  if (link.idsBefore === null || link.idsBefore.includes(candidate.subOrder.id)) return false;
  const own = candidates.find((one) => one.link === link);
  if (!own) return likenessTo(link.content, unit)(candidate) === exact;
  // The service normalises both in the same way, so a copy looks like the sub-order of the line.
  const isSameProduct = own.subOrder.product_id === candidate.subOrder.product_id;
  return isSameProduct && own.options === candidate.options && own.cents === candidate.cents;
}

/** The product's id has changed, but not its code: the service registered the product again. */
const isRegisteredAgain = (link: LineLink | undefined, { product_code }: SubOrderContent) =>
  product_code !== undefined && product_code === link?.content.product_code;

/**
 * The product of a sub-order. If the service has deleted it, the product that was sent last, which is not sent again:
 * only another product would help. Undefined: not known.
 */
const productOf = ({ subOrder, link }: Candidate) => subOrder.product_id ?? link?.content.product_id;

const isOtherProduct = (candidate: Candidate, content: SubOrderContent) => {
  const product = productOf(candidate);
  return product !== undefined && product !== content.product_id && !isRegisteredAgain(candidate.link, content);
};

type TextField = 'status' | 'invoice' | 'delivery_service' | 'product_options';

/**
 * The fields of a sub-order that differ from the shop's line, and the fields that are not shown. If a field has no
 * value in the shop, it counts only if the query selects its column, or a value was sent before (`known`).
 */
function lineDifferences(
  ours: SubOrderContent,
  found: Candidate,
  known: LineLink | undefined,
  isSelected: (column: string) => boolean,
  unit: MoneyUnit,
): FieldDifference[] {
  const theirs = found.subOrder;
  const options = theirs.product_options;
  // Reviews stay with the product id that they were written about. The product is the same.
  const keepsProduct = isRegisteredAgain(found.link, ours) && mayHaveReviews(theirs);
  const product = productOf(found);
  // A service may show a text in its own way. If the shop has changed a text since it was sent, it is sent again.
  const text = (field: TextField, shop: string | null | undefined, service: typeof shop, isSame = isSameInAnyCase) => {
    const sent = found.link && fieldValue(found.link.content, field);
    const isSent = sent == null || isDeepStrictEqual(sent, ours[field]);
    return fieldDifference(field, shop, service, (one, other) => one === other || (isSent && isSame(one, other)));
  };
  const all = [
    product === undefined || keepsProduct
      ? undefined
      : fieldDifference('product_id', String(ours.product_id), String(product)),
    moneyDifference('price', ours.price, theirs.price, unit, found.link?.content.price),
    // If the shop has no status, the service shows one of its own.
    ours.status ? text('status', ours.status, theirs.status) : undefined,
    fieldDifference('delivery_started_at', ours.delivery_started_at, theirs.delivery_started_at, isSameSecond),
    fieldDifference('delivered_at', ours.delivered_at, theirs.delivered_at, isSameSecond),
    text('invoice', ours.invoice, theirs.invoice, isSameInvoice),
    text('delivery_service', ours.delivery_service, theirs.delivery_service),
    text(
      'product_options',
      optionsText(ours.product_options),
      options && optionsText(options),
      () => optionsKey(options ?? {}) === optionsKey(ours.product_options),
    ),
  ];
  const isOfShop = (field: string) =>
    isSelected(field) || (known !== undefined && Boolean(fieldValue(known.content, field)));
  return differencesOfShop(all, isOfShop);
}

/** The value of a field. Null: no value, or `forget` has masked it. */
function fieldValue(content: SubOrderContent, field: string) {
  const value = content[field as keyof SubOrderContent];
  return value == null || (typeof value === 'object' && Object.keys(value).length === 0) ? null : value;
}

/** The body of a request that changes these fields. A field without a value is emptied. */
const bodyOf = (content: SubOrderContent, fields: readonly FieldDifference[]): SubOrderPatch =>
  sentOf(Object.fromEntries(fields.map(({ field }) => [field, fieldValue(content, field)])));
