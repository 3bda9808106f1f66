import type { SubOrder, SubOrderPatch } from '../../review-api/index.ts';
import type { LineLinkRow } from '../../warehouse/orders/order-links.ts';
import { centsAs, centsText, isShownAs, type MoneyUnit } from './money.ts';
import type { SubOrderContent } from './order-body.ts';
import {
  areAlike,
  areSameOptions,
  isExactly,
  isSameSecond,
  isSameText,
  optionsKey,
  optionsText,
} from './same-value.ts';

/** A line of the shop's order, as its sub-order should be. */
export type Line = Readonly<{ lineCode: string; content: SubOrderContent }>;
export type LineLink = LineLinkRow<SubOrderContent>;

/** A creation was sent, or is about to be, and no response has shown its sub-order. */
export const isPending = ({ subOrderId }: LineLink) => subOrderId === null;

/**
 * A field in which both ends differ. Null: no value. `isShown` false: the service does not show the field, so nobody
 * knows.
 */
export type FieldDifference = { field: string; shop: string | null; service: string | null; isShown: boolean };

/** The sub-order of a line, and what a request would change of it. */
export type LineChange = {
  lineCode: string;
  subOrderId: number;
  content: SubOrderContent;
  /** Fields to send; null clears one. Empty: nothing is sent. */
  patch: SubOrderPatch;
  fields: FieldDifference[];
  /** The service does not show the sub-order: all fields are sent, and a 404 tells that it is gone. */
  isHidden: boolean;
};

export type KeptBecause = 'it has, or may have, reviews' | 'review-sync did not create it';

/** What to send so that the service's sub-orders of one order are the shop's lines, each once. */
export type SubOrderDifference = {
  /** The lines that have a sub-order. */
  matched: LineChange[];
  /** Lines without one. `isSentAgain`: a creation was sent before, and what became of it is not known. */
  create: (Line & { isSentAgain: boolean })[];
  /** Sub-orders of lines that the shop does not have any more, and copies that a repeated creation made. */
  remove: { lineCode: string; subOrderId: number }[];
  /** Sub-orders that no line has and that stay. */
  keep: { lineCode: string | null; subOrderId: number; why: KeptBecause }[];
  /**
   * All line links as they are to be written before anything is sent: with found sub-orders, those taken over, and those
   * about to be created.
   */
  links: LineLink[];
};

/**
 * Compares the shop's lines with what the service shows of the order. Pure; it knows nothing of what was sent before
 * but for creations without a response. The sub-order of a line is, in this order:
 *
 * 1. the one of its link, unless its product is another one: then one that is exactly as the line goes first, for the
 *    shop's line codes may be positions, which move when a line is removed;
 * 2. where the response of its creation was lost: one that was not there before and is as it was sent;
 * 3. one of a line that the shop has removed (shops give lines new codes), then one that somebody else created. First
 *    those that are exactly as the line, then those that are similar; never by product alone.
 *
 * @param shown the sub-orders in the response to `POST /v1/orders` or in the order's detail.
 * @param lines the shop's lines that can be pushed.
 * @param links what is remembered of the order's lines.
 * @param untouched codes of lines that the shop has but that are not pushed now: their sub-orders are not changed.
 * @param isSelected whether the query of the lines selects a column. What another integration wrote into a field of which
 *   the shop says nothing, and never did, stays.
 * @param unit in which the service counts money, see moneyUnitOf.
 */
export function subOrderDifference(
  shown: readonly SubOrder[],
  lines: readonly Line[],
  remembered: readonly LineLink[],
  untouched: ReadonlySet<string> = new Set(),
  isSelected: (column: string) => boolean = () => true,
  unit?: MoneyUnit,
): SubOrderDifference {
  const links = inPlace(shown, lines, remembered, untouched, unit);
  const difference: SubOrderDifference = { matched: [], create: [], remove: [], keep: [], links: [] };
  const linkOf = new Map(links.map((link) => [link.lineCode, link]));
  const idsBefore = shown.map(({ id }) => id);
  const { ofLines, ofRemoved, free } = match(shown, lines, links, untouched, unit);

  for (const line of lines) {
    const { lineCode, content } = line;
    const link = linkOf.get(lineCode);
    const isOfShop = (field: string) => isSelected(field) || (link !== undefined && hasValue(link.content, field));
    const found = ofLines.get(lineCode);
    if (found) {
      const { subOrder, isOurs, idsBefore: watched } = found;
      const subOrderId = subOrder.id;
      const fields = lineDifferences(content, subOrder, unit).filter(
        ({ field, shop }) => shop !== null || isOfShop(field),
      );
      difference.matched.push({ ...line, subOrderId, fields, patch: patchOf(content, fields), isHidden: false });
      if (link?.subOrderId === subOrderId) continue;
      linkOf.set(lineCode, { ...line, subOrderId, isOurs, idsBefore: watched, linkedAt: link?.linkedAt });
    } else if (link?.subOrderId != null) {
      const { product_options: _, ...others } = content;
      const patch = isOfShop('product_options') ? { ...others, product_options: optionsPatch(content) } : others;
      difference.matched.push({ ...line, subOrderId: link.subOrderId, fields: [], patch, isHidden: true });
    } else {
      difference.create.push({ ...line, isSentAgain: link !== undefined });
      linkOf.set(lineCode, { ...line, subOrderId: null, isOurs: true, idsBefore: link?.idsBefore ?? idsBefore });
    }
  }
  const codes = new Set([...lines.map(({ lineCode }) => lineCode), ...untouched]);
  for (const link of links.filter(({ lineCode }) => !codes.has(lineCode))) {
    const { lineCode, isOurs } = link;
    const subOrder = ofRemoved.get(lineCode)?.subOrder;
    if (subOrder) {
      if (link.subOrderId === null) linkOf.set(lineCode, { ...link, subOrderId: subOrder.id });
      retire(difference, lineCode, subOrder, isOurs);
    } else linkOf.delete(lineCode);
  }
  for (const link of remembered) {
    if (link.idsBefore === null) continue;
    const own = shown.find(({ id }) => id === (link.subOrderId ?? ofLines.get(link.lineCode)?.subOrder.id));
    const nextCopy = () => free.first((one) => isCopy(one, link, own, unit));
    for (let copy = nextCopy(); copy !== undefined; copy = nextCopy()) retire(difference, link.lineCode, copy, true);
  }
  for (const { id } of free.left()) {
    difference.keep.push({ lineCode: null, subOrderId: id, why: 'review-sync did not create it' });
  }
  return { ...difference, links: [...linkOf.values()] };
}

/** Sub-orders with reviews are never deleted (promise 6), nor those that somebody else created. */
function retire({ remove, keep }: SubOrderDifference, lineCode: string, subOrder: SubOrder, isOurs: boolean): void {
  const subOrderId = subOrder.id;
  // The service may not show the count: that does not mean that there are no reviews.
  if (subOrder.reviews_count !== 0) keep.push({ lineCode, subOrderId, why: 'it has, or may have, reviews' });
  else if (!isOurs) keep.push({ lineCode, subOrderId, why: 'review-sync did not create it' });
  else remove.push({ lineCode, subOrderId });
}

/** Whether one of the requests for the creation of a line's sub-order made this one, which the line does not have. */
const isCopy = (
  subOrder: SubOrder,
  { idsBefore, content }: LineLink,
  own: SubOrder | undefined,
  unit: MoneyUnit | undefined,
): boolean =>
  idsBefore !== null &&
  !idsBefore.includes(subOrder.id) &&
  // Both went through the same normalising there, so a copy is like the sub-order of the line as the service shows it.
  (own ? areAlike(subOrder, own) : isExactly(subOrder, content, unit));

/**
 * The links with the sub-orders that their lines have by now. A line code may be the position of the line: where a line is
 * removed, the codes of the lines behind it move. A linked sub-order of another product than its line goes to the line
 * that it is exactly like. A sub-order that may have reviews never gets another product. The codes of removed lines take
 * what is left, which is then removed.
 */
function inPlace(
  shown: readonly SubOrder[],
  lines: readonly Line[],
  links: readonly LineLink[],
  untouched: ReadonlySet<string>,
  unit: MoneyUnit | undefined,
): readonly LineLink[] {
  const subOrderOf = new Map(shown.map((one) => [one.id, one]));
  const contentOf = new Map(lines.map(({ lineCode, content }) => [lineCode, content]));
  const shownLinks = links.flatMap((link) => {
    const subOrder = link.subOrderId === null ? undefined : subOrderOf.get(link.subOrderId);
    const isWanted = contentOf.has(link.lineCode);
    return subOrder && (isWanted || !untouched.has(link.lineCode)) ? [{ link, subOrder, isWanted }] : [];
  });
  const isMisplaced = ({ link, subOrder }: (typeof shownLinks)[number]) =>
    subOrder.product_id !== null && contentOf.get(link.lineCode)?.product_id !== subOrder.product_id;
  const misplaced = shownLinks.filter((one) => one.isWanted && isMisplaced(one));
  if (misplaced.length === 0) return links;
  const removed = shownLinks.filter(({ isWanted }) => !isWanted);

  const free = [...misplaced, ...removed];
  const takeFirst = (isIt: (one: (typeof free)[number]) => boolean) => {
    const at = free.findIndex(isIt);
    return at < 0 ? undefined : free.splice(at, 1)[0];
  };
  const placed = new Map<string, LineLink | undefined>();
  const place = (lineCode: string, one: (typeof free)[number] | undefined) =>
    placed.set(lineCode, one && { ...one.link, lineCode });
  for (const { link } of misplaced) {
    const content = contentOf.get(link.lineCode);
    const found = content && takeFirst(({ subOrder }) => isExactly(subOrder, content, unit));
    if (found) place(link.lineCode, found);
  }
  const mayChange = ({ subOrder }: (typeof free)[number]) => !((subOrder.reviews_count ?? 0) > 0);
  for (const { link } of misplaced.filter(({ link: { lineCode } }) => !placed.has(lineCode))) {
    const own = takeFirst((one) => one.link === link && mayChange(one));
    place(link.lineCode, own ?? takeFirst((one) => misplaced.includes(one) && mayChange(one)));
  }
  for (const { link } of removed) {
    place(link.lineCode, takeFirst((one) => one.link === link) ?? takeFirst(mayChange) ?? free.shift());
  }
  return links.flatMap((link) => (placed.has(link.lineCode) ? (placed.get(link.lineCode) ?? []) : link));
}

type Match = { subOrder: SubOrder; isOurs: boolean; idsBefore: readonly number[] | null };
type Matches = { ofLines: Map<string, Match>; ofRemoved: Map<string, Match>; free: Pool };

function match(
  shown: readonly SubOrder[],
  lines: readonly Line[],
  links: readonly LineLink[],
  untouched: ReadonlySet<string>,
  unit: MoneyUnit | undefined,
): Matches {
  const wanted = new Set(lines.map(({ lineCode }) => lineCode));
  const free = openPool(shown, unit);
  const ofLinks = new Map<string, Match>();

  // 1. By id.
  for (const { lineCode, subOrderId, isOurs, idsBefore } of links) {
    const subOrder = subOrderId === null ? undefined : free.take(subOrderId);
    if (subOrder) ofLinks.set(lineCode, { subOrder, isOurs, idsBefore });
  }
  // 2. Creations without a response. What is found for a removed line is removed: it must be exactly what was sent.
  for (const like of ['exact', 'similar'] as const) {
    for (const { lineCode, subOrderId, content, idsBefore } of links) {
      if (subOrderId !== null || ofLinks.has(lineCode) || (like === 'similar' && !wanted.has(lineCode))) continue;
      const subOrder = free.find(content, like, ({ id }) => !idsBefore?.includes(id));
      // It stays watched: the creation may have been sent twice, and both responses lost.
      if (subOrder) ofLinks.set(lineCode, { subOrder, isOurs: true, idsBefore });
    }
  }
  // 3. Lines without a sub-order.
  const ofLines = new Map([...ofLinks].filter(([lineCode]) => wanted.has(lineCode)));
  const ofRemoved = new Map([...ofLinks].filter(([lineCode]) => !wanted.has(lineCode) && !untouched.has(lineCode)));
  const spare = openPool(
    [...ofRemoved.values()].map(({ subOrder }) => subOrder),
    unit,
  );
  // A linked sub-order that the service does not show is the line's own all the same.
  const hidden = new Set(links.flatMap(({ lineCode, subOrderId }) => (subOrderId === null ? [] : lineCode)));
  for (const like of ['exact', 'similar'] as const) {
    for (const pool of [spare, free]) {
      for (const { lineCode, content } of lines) {
        if (ofLines.has(lineCode) || hidden.has(lineCode)) continue;
        const subOrder = pool.find(content, like);
        if (!subOrder) continue;
        const [removed, found] = [...ofRemoved].find(([, one]) => one.subOrder === subOrder) ?? [];
        const isOurs = links.some((link) => isCopy(subOrder, link, undefined, unit));
        ofLines.set(lineCode, found ?? { subOrder, isOurs, idsBefore: null });
        if (removed !== undefined) ofRemoved.delete(removed);
      }
    }
  }
  return { ofLines, ofRemoved, free };
}

/**
 * Sub-orders that no line has yet. `exact`: product, options and price agree. `similar`: the product and one of the
 * other two, as where the service, or another integration, reads prices or options in its own way. The product alone is
 * never enough: sizes S and M of one product would be taken for each other.
 */
type Pool = {
  take(id: number): SubOrder | undefined;
  /** Takes the first that is so like the content; of similar ones first those with its options. */
  find(
    content: SubOrderContent,
    like: 'exact' | 'similar',
    isAllowed?: (one: SubOrder) => boolean,
  ): SubOrder | undefined;
  /** Takes the first of which this holds. */
  first(isIt: (one: SubOrder) => boolean): SubOrder | undefined;
  left(): SubOrder[];
};

function openPool(all: readonly SubOrder[], unit: MoneyUnit | undefined): Pool {
  const keyed = all.map((one) => {
    const cents = one.price === null ? undefined : BigInt(one.price.cents);
    return { one, options: optionsKey(one.product_options ?? {}), cents };
  });
  const free = new Map(keyed.map((entry) => [entry.one.id, entry]));
  const take = (id: number) => {
    const entry = free.get(id);
    free.delete(id);
    return entry?.one;
  };
  type Entry = (typeof keyed)[number];
  return {
    take,
    find({ product_id, product_options, price }, like, isAllowed = () => true) {
      const key = optionsKey(product_options);
      const hasOptions = ({ options }: Entry) => options === key;
      const havePrice = centsAs(price, unit).map(
        (amount) =>
          ({ cents }: Entry) =>
            cents === amount,
      );
      const exact = havePrice.map((hasPrice) => (entry: Entry) => hasOptions(entry) && hasPrice(entry));
      for (const isLike of like === 'exact' ? exact : [hasOptions, ...havePrice]) {
        const isFirst = (entry: Entry) => entry.one.product_id === product_id && isLike(entry) && isAllowed(entry.one);
        const found = [...free.values()].find(isFirst);
        if (found) return take(found.one.id);
      }
      return undefined;
    },
    first(isIt) {
      const found = [...free.values()].find(({ one }) => isIt(one));
      return found && take(found.one.id);
    },
    left: () => [...free.values()].map(({ one }) => one),
  };
}

/** The fields in which a sub-order differs from what the shop wants, and those that the service does not show. */
function lineDifferences(ours: SubOrderContent, theirs: SubOrder, unit: MoneyUnit | undefined): FieldDifference[] {
  const options = theirs.product_options;
  const all: (FieldDifference | undefined)[] = [
    // Where the service has deleted the product, it shows none; nobody can correct that by a request.
    theirs.product_id === null
      ? undefined
      : fieldDifference('product_id', String(ours.product_id), String(theirs.product_id)),
    fieldDifference('price', ours.price, theirs.price === null ? undefined : centsText(theirs.price), () =>
      isShownAs(theirs.price, ours.price, unit),
    ),
    // Where the shop has no status, the service shows one of its own.
    ours.status ? fieldDifference('status', ours.status, theirs.status) : undefined,
    fieldDifference('delivery_started_at', ours.delivery_started_at, theirs.delivery_started_at, isSameSecond),
    fieldDifference('delivered_at', ours.delivered_at, theirs.delivered_at, isSameSecond),
    fieldDifference('invoice', ours.invoice, theirs.invoice),
    fieldDifference('delivery_service', ours.delivery_service, theirs.delivery_service),
    fieldDifference('product_options', optionsText(ours.product_options), options && optionsText(options), () =>
      areSameOptions(options ?? {}, ours.product_options),
    ),
  ];
  return all.filter((one) => one !== undefined);
}

/**
 * Undefined where both ends say the same, or where the shop has no value and the service shows none.
 *
 * @param theirs undefined: the response lacks the field.
 */
export function fieldDifference(
  field: string,
  ours: string | null | undefined,
  theirs: string | null | undefined,
  isSame: (theirs: string | null, ours: string | null) => boolean = isSameText,
): FieldDifference | undefined {
  const [shop, service] = [ours || null, theirs || null];
  if (theirs === undefined) return shop === null ? undefined : { field, shop, service, isShown: false };
  return isSame(service, shop) ? undefined : { field, shop, service, isShown: true };
}

const hasValue = (content: SubOrderContent, field: string): boolean =>
  field === 'product_options'
    ? optionsText(content.product_options) !== null
    : Boolean(content[field as keyof SubOrderContent]);

function patchOf(content: SubOrderContent, fields: readonly FieldDifference[]): SubOrderPatch {
  const wanted: SubOrderPatch = { ...content, product_options: optionsPatch(content) };
  return Object.fromEntries(fields.map(({ field }) => [field, wanted[field as keyof SubOrderPatch] ?? null]));
}

const optionsPatch = ({ product_options: options }: SubOrderContent) =>
  Object.keys(options).length === 0 ? null : options;
