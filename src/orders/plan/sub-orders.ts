import type { SubOrder, SubOrderPatch } from '../../review-api/index.ts';
import type { LineLinkRow } from '../../warehouse/orders/order-links.ts';
import type { SubOrderContent } from './desired-order.ts';
import {
  areSameOptions,
  centsAs,
  centsText,
  isSameSecond,
  isSameText,
  isShownAs,
  type MoneyUnit,
  optionsKey,
  optionsText,
} from './same-value.ts';

/** A line of the shop's order, as its sub-order should be. */
export type Line = Readonly<{ lineCode: string; content: SubOrderContent }>;
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

/** The sub-order of a line, and what a request would change of it. */
export type LineChange = {
  lineCode: string;
  subOrderId: number;
  content: SubOrderContent;
  /** Fields to send; null clears one. Empty: nothing is sent. */
  patch: SubOrderPatch;
  fields: FieldDifference[];
  /** The service does not show the sub-order: all fields but the product are sent, and a 404 tells that it is gone. */
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
  const { entries, ofLines, left } = match(shown, lines, links, untouched, unit);
  const linkOf = new Map(links.map((link) => [link.lineCode, link]));
  for (const line of lines) {
    const { lineCode, content } = line;
    const own = linkOf.get(lineCode);
    const found = ofLines.get(lineCode);
    const link = found?.link ?? own;
    const isOfShop = (field: string) => isSelected(field) || (link !== undefined && hasValue(link.content, field));
    if (found) {
      const { isHidden } = found;
      const subOrderId = found.one.id;
      const all = isHidden ? [] : lineDifferences(content, found, unit);
      const fields = all.filter(({ field, shop }) => shop !== null || isOfShop(field));
      const patch = isHidden ? hiddenPatch(content, isOfShop('product_options')) : patchOf(content, fields);
      matched.push({ ...line, subOrderId, fields, patch, isHidden });
      if (own?.subOrderId === subOrderId) continue;
      const isOurs = found.link?.isOurs ?? links.some((each) => isCopy(found, each, undefined, unit));
      const { idsBefore = null, linkedAt } = found.link ?? {};
      linkOf.set(lineCode, { ...line, subOrderId, isOurs, idsBefore, linkedAt });
    } else {
      const sent = own && isPending(own) ? own : undefined;
      create.push({ ...line, isSentAgain: sent !== undefined });
      const idsBefore = sent?.idsBefore ?? shown.map(({ id }) => id);
      linkOf.set(lineCode, { ...line, subOrderId: null, isOurs: true, idsBefore });
    }
  }
  const codes = new Set([...lines.map(({ lineCode }) => lineCode), ...untouched]);
  const gone = links.map(({ lineCode }) => lineCode).filter((lineCode) => !codes.has(lineCode));
  const watched = links.flatMap((link) => {
    const ownId = link.subOrderId ?? ofLines.get(link.lineCode)?.one.id;
    return link.idsBefore === null
      ? []
      : [{ link, own: entries.find(({ one, isHidden }) => one.id === ownId && !isHidden) }];
  });
  const copied = (entry: Entry) => watched.find(({ link, own }) => isCopy(entry, link, own, unit))?.link;
  return { matched, create, ...retire(left, gone, linkOf, copied), links: [...linkOf.values()] };
}

/**
 * What becomes of the sub-orders that no line has. Sub-orders of removed lines, and copies that a repeated creation made,
 * are removed. A sub-order with reviews, or that somebody else created, is not (promise 6). A linked sub-order stays linked
 * to the code of its removed line until it is removed.
 *
 * @param gone codes of links whose line the shop has removed.
 * @param copied the link of whose sub-order this one is a copy.
 */
function retire(
  left: Iterable<Entry>,
  gone: readonly string[],
  linkOf: Map<string, LineLink>,
  copied: (entry: Entry) => LineLink | undefined,
): Pick<SubOrderDifference, 'remove' | 'keep'> {
  const remove: SubOrderDifference['remove'] = [];
  const keep: SubOrderDifference['keep'] = [];
  const removableFirst = [...left].sort((a, b) => Number(mayHaveReviews(a.one)) - Number(mayHaveReviews(b.one)));
  const held = new Set(removableFirst.map(({ link }) => link?.lineCode));
  const vacated = gone.filter((lineCode) => !held.has(lineCode));
  for (const lineCode of vacated) linkOf.delete(lineCode);
  for (const entry of removableFirst) {
    const { one, link } = entry;
    const subOrderId = one.id;
    const of = link ?? copied(entry);
    // The code of its link may be that of another sub-order by now.
    const lineCode = (link && !gone.includes(link.lineCode) ? vacated.shift() : of?.lineCode) ?? null;
    if (link && lineCode !== null && linkOf.get(lineCode)?.subOrderId !== subOrderId)
      linkOf.set(lineCode, { ...link, lineCode, subOrderId });
    if (of && mayHaveReviews(one)) keep.push({ lineCode, subOrderId, why: 'it has, or may have, reviews' });
    else if (!of?.isOurs || lineCode === null)
      keep.push({ lineCode, subOrderId, why: 'review-sync did not create it' });
    else remove.push({ lineCode, subOrderId });
  }
  return { remove, keep };
}

/** Whether one of the requests for the creation of a line's sub-order made this one, which the line does not have. */
const isCopy = (
  entry: Entry,
  { idsBefore, content }: LineLink,
  own: Entry | undefined,
  unit: MoneyUnit | undefined,
): boolean =>
  idsBefore !== null &&
  !idsBefore.includes(entry.one.id) &&
  // Both went through the same normalising there, so a copy is like the sub-order of the line as the service shows it.
  (own ? areAlike(entry, own) : waysOf(content, unit).exact.some((is) => is(entry)));

const areAlike = (entry: Entry, other: Entry) =>
  entry.one.product_id === other.one.product_id && entry.options === other.options && entry.cents === other.cents;

/**
 * A sub-order, with the link that leads to it. Its options and its price in a form that can be compared. `isHidden`: the
 * service does not show it, and `one` is what it was last sent; nobody knows whether it has reviews.
 */
type Entry = {
  one: SubOrder;
  link?: LineLink | undefined;
  options: string;
  cents: bigint | undefined;
  isHidden: boolean;
};
type Is = (entry: Entry) => boolean;

/** `left`: sub-orders that no line has yet. */
type Pool = { ofLines: Map<string, Entry>; left: Set<Entry> };

/**
 * Which sub-order is a line's, in this order:
 *
 * 1. The sub-order of its link, if that is exactly as the line. The shop's line codes may be positions, which move when a
 *    line is removed.
 * 2. A linked sub-order that is exactly as the line; otherwise the sub-order of its link, which is changed.
 * 3. If the response of the creation was lost: a sub-order that was not there before and is as it was sent.
 * 4. The sub-order of a line that the shop has removed (shops give lines new codes), then one that somebody else created.
 *
 * In 3 and 4, sub-orders that are exactly as the line come before similar ones. A sub-order that may have reviews gets no
 * other product. A linked sub-order that is not shown counts as it was last sent; if no line has it, it is forgotten.
 */
function match(
  shown: readonly SubOrder[],
  lines: readonly Line[],
  links: readonly LineLink[],
  untouched: ReadonlySet<string>,
  unit: MoneyUnit | undefined,
): Pool & { entries: readonly Entry[] } {
  const entries = entriesOf(shown, links, unit);
  const pool: Pool = { ofLines: new Map(), left: new Set(entries) };
  takeLinked(pool, lines, links, untouched, unit);
  const wanted = new Map(lines.map(({ lineCode, content }) => [lineCode, content]));
  const pending = links.filter(isPending);
  for (const like of ['exact', 'similar'] as const) {
    for (const link of pending) {
      const { lineCode, content, idsBefore } = link;
      // What is found for a removed line is removed: it must be exactly what was sent.
      if (like === 'similar' && !wanted.has(lineCode)) continue;
      const now = wanted.get(lineCode) ?? content;
      const mayBeIts: Is = (entry) =>
        !entry.link && !idsBefore?.includes(entry.one.id) && mayBecome({ ...entry, link }, now);
      const found = take(pool, lineCode, waysOf(content, unit)[like], mayBeIts);
      // It stays watched: the creation may have been sent twice, and both responses lost.
      if (found) found.link = link;
      if (found && !wanted.has(lineCode) && !untouched.has(lineCode)) pool.left.add(found);
    }
  }
  const open = lines.filter(({ lineCode }) => !pool.ofLines.has(lineCode));
  for (const like of pool.left.size > 0 ? (['exact', 'similar'] as const) : []) {
    for (const isLinked of [true, false]) {
      for (const { lineCode, content } of open)
        take(pool, lineCode, waysOf(content, unit)[like], ({ link }) => (link !== undefined) === isLinked);
    }
  }
  for (const entry of entries) if (entry.isHidden) pool.left.delete(entry);
  return { ...pool, entries };
}

function entriesOf(shown: readonly SubOrder[], links: readonly LineLink[], unit: MoneyUnit | undefined): Entry[] {
  const ids = new Set(shown.map(({ id }) => id));
  const hidden = links.flatMap((link): Entry[] => {
    const { subOrderId: id, content } = link;
    if (id === null || ids.has(id)) return [];
    const one = { id, product_id: content.product_id, price: null } as SubOrder;
    const [cents] = centsAs(content.price, unit);
    return [{ one, link, options: optionsKey(content.product_options), cents, isHidden: true }];
  });
  const seen = shown.map((one): Entry => {
    const cents = one.price === null ? undefined : BigInt(one.price.cents);
    return { one, options: optionsKey(one.product_options ?? {}), cents, isHidden: false };
  });
  return [...seen, ...hidden];
}

/** Steps 1 and 2. */
function takeLinked(
  pool: Pool,
  lines: readonly Line[],
  links: readonly LineLink[],
  untouched: ReadonlySet<string>,
  unit: MoneyUnit | undefined,
): void {
  const entryOf = new Map<number | null, Entry>([...pool.left].map((entry) => [entry.one.id, entry]));
  const lineOf = new Map(lines.map((line) => [line.lineCode, line]));
  const unlike = new Map<Entry, Line>();
  for (const link of links) {
    const entry = entryOf.get(link.subOrderId);
    if (!entry) continue;
    entry.link = link;
    const line = lineOf.get(link.lineCode);
    if (line && !waysOf(line.content, unit).exact.some((is) => is(entry))) unlike.set(entry, line);
    else if (line || untouched.has(link.lineCode)) take(pool, link.lineCode, [(one) => one === entry]);
  }
  for (const { lineCode, content } of unlike.values())
    take(pool, lineCode, waysOf(content, unit).exact, ({ link }) => link !== undefined);
  for (const [own, { lineCode, content }] of unlike)
    take(pool, lineCode, [(entry) => entry === own], (entry) => mayBecome(entry, content));
  for (const { lineCode } of unlike.values())
    take(pool, lineCode, [(entry) => unlike.has(entry) && !mayHaveReviews(entry.one)]);
}

/** A sub-order that may have reviews gets no other product (promise 6). */
const mayBecome = (entry: Entry, content: SubOrderContent) =>
  !mayHaveReviews(entry.one) || !isOtherProduct(entry, content);

/** Gives a line without a sub-order the first that is so, those of the first way before the others. */
function take({ ofLines, left }: Pool, lineCode: string, ways: readonly Is[], isAllowed: Is = () => true) {
  for (const is of ofLines.has(lineCode) ? [] : ways) {
    for (const entry of left) {
      if (!is(entry) || !isAllowed(entry)) continue;
      left.delete(entry);
      ofLines.set(lineCode, entry);
      return entry;
    }
  }
  return undefined;
}

/**
 * When a sub-order is a line's. `exact`: product, options and price agree. `similar`: the product and the options, or the
 * product and the price, for example if the service, or another integration, reads prices or options in its own way. The
 * product alone is never enough: sizes S and M of one product would be taken for each other.
 */
function waysOf(content: SubOrderContent, unit: MoneyUnit | undefined) {
  const key = optionsKey(content.product_options);
  const amounts = new Set<bigint | undefined>(centsAs(content.price, unit));
  const hasProduct: Is = (entry) =>
    entry.one.product_id === content.product_id || (entry.one.product_id !== null && isRegisteredAgain(entry, content));
  const hasOptions: Is = (entry) => hasProduct(entry) && entry.options === key;
  const hasPrice: Is = (entry) => hasProduct(entry) && amounts.has(entry.cents);
  return { exact: [(entry: Entry) => hasOptions(entry) && hasPrice(entry)], similar: [hasOptions, hasPrice] };
}

/** The product's id has changed although its code has not: it was registered again at the service. */
const isRegisteredAgain = ({ link }: Entry, { product_code }: SubOrderContent) =>
  product_code !== undefined && product_code === link?.content.product_code;

/** Null: the service has deleted the product, and nobody can correct that by a request. */
const isOtherProduct = (entry: Entry, content: SubOrderContent) =>
  entry.one.product_id !== null && entry.one.product_id !== content.product_id && !isRegisteredAgain(entry, content);

/** The fields in which a sub-order differs from what the shop wants, and those that the service does not show. */
function lineDifferences(ours: SubOrderContent, found: Entry, unit: MoneyUnit | undefined): FieldDifference[] {
  const theirs = found.one;
  const options = theirs.product_options;
  // Reviews stay with the product that they were written about, which is the same one.
  const keepsProduct = isRegisteredAgain(found, ours) && mayHaveReviews(theirs);
  const all: (FieldDifference | undefined)[] = [
    // If the service has deleted the product, it shows no product; nobody can correct that by a request.
    theirs.product_id === null || keepsProduct
      ? undefined
      : fieldDifference('product_id', String(ours.product_id), String(theirs.product_id)),
    fieldDifference('price', ours.price, theirs.price === null ? undefined : centsText(theirs.price), () =>
      isShownAs(theirs.price, ours.price, unit),
    ),
    // If the shop has no status, the service shows one of its own.
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
 * Undefined if both ends say the same, or if the shop has no value and the service shows none.
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

/** Whether the product of a sub-order that is not shown is another one is not known, and it may have reviews. */
const hiddenPatch = ({ product_id: _, product_options: __, ...others }: SubOrderContent, hasOptions: boolean) =>
  hasOptions ? { ...others, product_options: optionsPatch({ product_options: __ }) } : others;

const optionsPatch = ({ product_options: options }: Pick<SubOrderContent, 'product_options'>) =>
  Object.keys(options).length === 0 ? null : options;
