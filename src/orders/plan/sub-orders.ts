import { isDeepStrictEqual } from 'node:util';
import type { SubOrder, SubOrderBody, SubOrderPatch } from '../../review-api/index.ts';
import { type Line, type SubOrderContent, sentOf } from './desired-order.ts';
import {
  type Candidate,
  hiddenCandidate,
  isCopy,
  isPending,
  isProductOf,
  isRegisteredAgain,
  type LineLink,
  matchLines,
  mayHaveReviews,
  productOf,
} from './match-lines.ts';
import {
  centsText,
  type FieldDifference,
  fieldDifference,
  isSameInvoice,
  isSameSecond,
  isShownAs,
  type MoneyUnit,
  optionsKey,
  optionsText,
} from './same-value.ts';

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

/** What else `subOrderDifference` compares by. */
type Comparing = {
  /** Codes of lines that the shop has but that are not pushed now: their sub-orders are not changed. */
  untouched?: ReadonlySet<string>;
  /**
   * Whether the query of the lines selects a column. If the shop has never sent a field, the value that another integration
   * wrote there stays.
   */
  isSelected?: (column: string) => boolean;
  /** In which the service counts money (`moneyUnitOf`). */
  unit?: MoneyUnit | undefined;
};

/**
 * Compares the shop's lines with what the service shows of the order. Pure; it knows nothing of what was sent before
 * but for creations without a response.
 *
 * 1. `matchLines` says which sub-order is a line's. A linked sub-order that the service does not show stays its line's:
 *    nobody knows whether it is gone.
 * 2. A line with a sub-order is changed, a line without one is created.
 * 3. A line that is not pushed now keeps its link, unless its sub-order went to another line.
 * 4. `retire` decides about the sub-orders that no line has.
 *
 * @param shown the sub-orders in the response to `POST /v1/orders` or in the order's detail.
 * @param lines the shop's lines that can be pushed.
 * @param links what is remembered of the order's lines.
 */
export function subOrderDifference(
  shown: readonly SubOrder[],
  lines: readonly Line[],
  links: readonly LineLink[],
  { untouched = new Set(), isSelected = () => true, unit }: Comparing = {},
): SubOrderDifference {
  const matched: LineChange[] = [];
  const create: LineCreation[] = [];
  const before = new Map(links.map((link) => [link.lineCode, link]));
  const after = new Map(before);
  const ids = new Set(shown.map(({ id }) => id));
  const isShown = ({ subOrderId }: LineLink) => subOrderId !== null && ids.has(subOrderId);
  const hiddenOf = ({ lineCode, content }: Line): Candidate | undefined => {
    const own = before.get(lineCode);
    if (!own || own.subOrderId === null || isShown(own) || !isProductOf(own, content)) return undefined;
    return hiddenCandidate(own, own.subOrderId);
  };
  const toMatch = lines.filter((line) => !hiddenOf(line));
  const { candidates, ofLines, left } = matchLines(shown, toMatch, before, untouched, unit);
  const codes = new Set([...lines.map(({ lineCode }) => lineCode), ...untouched]);
  const gone = links.filter(({ lineCode }) => !codes.has(lineCode));
  // Links of removed lines come first: each is remembered for its sub-order only.
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
      const idsBefore = pending?.idsBefore ?? shown.map(({ id }) => id);
      after.set(lineCode, { ...line, subOrderId: null, isOurs: true, idsBefore });
      continue;
    }
    const known = found.link ?? own;
    const isOfShop = (field: string) => isSelected(field) || (known !== undefined && hasValue(known.content, field));
    const fields = lineDifferences(content, found, unit).filter(({ field, shop }) => shop !== null || isOfShop(field));
    const body = bodyOf(content, fields);
    const subOrderId = found.subOrder.id;
    matched.push({ kind: 'change', ...line, subOrderId, fields, body, isHidden: hidden !== undefined });
    if (own?.subOrderId !== subOrderId) {
      const { isOurs = false, idsBefore = null, linkedAt } = found.link ?? copied(found) ?? {};
      // Until the change is carried out: what was sent of it last.
      const sent = fields.length > 0 && found.link ? found.link.content : content;
      after.set(lineCode, { lineCode, content: sent, subOrderId, isOurs, idsBefore, linkedAt });
    } else if (fields.length === 0 && !isDeepStrictEqual(own.content, content)) {
      // A request whose response was lost may have changed it, or somebody else.
      after.set(lineCode, { ...own, content });
    }
  }

  for (const lineCode of untouched) {
    const own = before.get(lineCode);
    const link = ofLines.get(lineCode)?.link;
    if (!own || link === own || !isShown(own)) continue;
    // The sub-order that it had is exactly as another line: the codes have moved.
    if (link) after.set(lineCode, { ...link, lineCode });
    else after.delete(lineCode);
  }
  return { matched, create, ...retire(left, gone, after, copied), links: [...after.values()] };
}

/**
 * Decides about the sub-orders that no line has. Sub-orders of removed lines, and copies that a repeated creation made,
 * are removed. A sub-order with reviews, or that somebody else created, is not (promise 6). A linked sub-order is remembered
 * until it is removed, by a code of its own: the code of its line may be another line's by now.
 *
 * @param gone links whose line the shop has removed.
 * @param after the links to be written, which this changes.
 * @param copied finds the watched link, if a repeated creation of its sub-order made this one.
 */
function retire(
  left: ReadonlySet<Candidate>,
  gone: readonly LineLink[],
  after: Map<string, LineLink>,
  copied: (candidate: Candidate) => LineLink | undefined,
): Pick<SubOrderDifference, 'remove' | 'keep'> {
  const remove: SubOrderDifference['remove'] = [];
  const keep: SubOrderDifference['keep'] = [];
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

/** The fields in which a sub-order differs from what the shop wants, and those that the service does not show. */
function lineDifferences(ours: SubOrderContent, found: Candidate, unit: MoneyUnit | undefined): FieldDifference[] {
  const theirs = found.subOrder;
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
