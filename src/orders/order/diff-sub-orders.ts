import { isDeepStrictEqual } from 'node:util';
import type { SubOrder, SubOrderPatch } from '../../review-api/index.ts';
import { type Line, type LineLink, type Match, matchSubOrders } from './match-sub-orders.ts';
import type { SubOrderContent } from './order-body.ts';
import { areSameOptions, isSamePrice, isSameSecond } from './same-content.ts';

export type { Line, LineLink } from './match-sub-orders.ts';

/** Why a sub-order stays although the shop does not have its line. */
export type KeptReason = 'has reviews' | 'unmanaged';

/** What to send so that the service's sub-orders of one order are the shop's lines, each once. */
export type SubOrderDiff = {
  create: Line[];
  /** `content` is what the sub-order holds once the patch has arrived. */
  change: (LineLink & { subOrderId: number; patch: SubOrderPatch })[];
  remove: { lineCode: string; subOrderId: number }[];
  /** Sub-orders of ours that no line has, because the service had not shown them when their line was sent again, changed or removed. */
  removeDuplicates: { lineCode: string; subOrderId: number }[];
  kept: { lineCode: string; subOrderId: number; why: KeptReason }[];
  /** Links to write before anything is sent: found sub-orders, sub-orders taken over, and those about to be created. */
  links: LineLink[];
  /** Line codes of links to delete in the same statement. */
  dropLinks: string[];
  /** All creations whose sub-orders the service has not shown, and may show yet. */
  unseen: readonly LineLink[];
  /** How many sub-orders were found that an earlier request created without a response. */
  found: number;
};

/**
 * @param theirs the sub-orders in the response to `POST /v1/orders`.
 * @param lines the shop's lines that can be pushed.
 * @param links what is remembered of the order's lines.
 * @param untouched lines that the shop has but that are not pushed now: their sub-orders are not changed.
 * @param unseen what is remembered of creations whose sub-orders were not shown.
 * @param areLinesUnsure the links' contents may be older than what the service holds: compare with what it shows instead.
 */
export function diffSubOrders(
  theirs: readonly SubOrder[],
  lines: readonly Line[],
  links: readonly LineLink[],
  untouched: ReadonlySet<string> = new Set(),
  { unseen = [], areLinesUnsure = false }: { unseen?: readonly LineLink[]; areLinesUnsure?: boolean } = {},
): SubOrderDiff {
  const { ofLines, ofRemovedLines, duplicates, notShown } = matchSubOrders(theirs, lines, links, untouched, unseen);
  const diff: SubOrderDiff = {
    create: [],
    change: [],
    remove: [],
    removeDuplicates: [],
    kept: [],
    links: [],
    dropLinks: [],
    unseen: withNotShown(unseen, notShown),
    found: 0,
  };
  const linkOf = new Map(links.map((link) => [link.lineCode, link]));
  const idsBefore = theirs.map((subOrder) => subOrder.id);

  for (const line of lines) {
    const match = ofLines.get(line.lineCode);
    if (match) keepInLine(diff, line, match, !areLinesUnsure);
    else {
      diff.create.push(line);
      diff.links.push({ ...line, subOrderId: null, idsBefore });
    }
  }
  const codes = new Set([...lines.map((line) => line.lineCode), ...untouched]);
  for (const { lineCode } of links) {
    if (codes.has(lineCode)) continue;
    const subOrder = ofRemovedLines.get(lineCode);
    if (subOrder) retire(diff, lineCode, subOrder, linkOf.get(lineCode)?.idsBefore ?? null);
    else diff.dropLinks.push(lineCode);
  }
  for (const { lineCode, subOrder } of duplicates) {
    if (subOrder.reviews_count === 0) diff.removeDuplicates.push({ lineCode, subOrderId: subOrder.id });
    else diff.kept.push({ lineCode, subOrderId: subOrder.id, why: 'has reviews' });
  }
  return diff;
}

/** Of requests for one line with one content only the last is kept, with what was there before the first. */
function withNotShown(unseen: readonly LineLink[], notShown: readonly LineLink[]): readonly LineLink[] {
  const isSame = (one: LineLink, link: LineLink) =>
    one.subOrderId === link.subOrderId && isDeepStrictEqual(one.content, link.content);
  const earlier = Map.groupBy(unseen, (one) => one.lineCode);
  const later = new Map(notShown.map((link) => [link.lineCode, link]));
  const left = unseen.filter((one) => {
    const link = later.get(one.lineCode);
    return link === undefined || !isSame(one, link);
  });
  const repeated = notShown.map((link) => {
    const first = earlier.get(link.lineCode)?.find((one) => isSame(one, link));
    return { ...link, idsBefore: first?.idsBefore ?? link.idsBefore };
  });
  return [...left, ...repeated];
}

/** Links the sub-order to the line, and changes what differs. */
function keepInLine(diff: SubOrderDiff, line: Line, match: Match, isSure: boolean): void {
  const { subOrder, idsBefore } = match;
  const isTrusted = isSure && (match.kind === 'taken-over' || (match.kind === 'linked' && match.isExact));
  const hadStatus = match.kind !== 'unmanaged' && match.content.status !== undefined;
  const patch = isTrusted ? patchBetween(match.content, line.content) : patchOf(subOrder, line.content, { hadStatus });
  const link = { ...line, subOrderId: subOrder.id, idsBefore };
  if (patch) diff.change.push({ ...link, patch });
  const isKnown = match.kind === 'linked' && !match.isNew;
  if (isKnown && isSure) return;
  // With the content that the service has: should the change be lost, the next push sends it again.
  const content = isTrusted ? match.content : contentOf(subOrder, line.content, patch);
  diff.links.push({ ...link, content });
  if (match.kind === 'linked' && match.isNew) diff.found += 1;
}

/** Sub-orders with reviews are never deleted (promise 6), nor those that somebody else created. */
function retire(diff: SubOrderDiff, lineCode: string, subOrder: SubOrder, idsBefore: readonly number[] | null): void {
  // The service may not show the count: that does not mean that there are no reviews.
  if (subOrder.reviews_count !== 0) diff.kept.push({ lineCode, subOrderId: subOrder.id, why: 'has reviews' });
  else if (idsBefore === null) diff.kept.push({ lineCode, subOrderId: subOrder.id, why: 'unmanaged' });
  else diff.remove.push({ lineCode, subOrderId: subOrder.id });
}

const emptiable = ['status', 'delivery_started_at', 'delivered_at', 'invoice', 'delivery_service'] as const;

/** What differs between what was last sent and what is wanted now; undefined where nothing does. */
function patchBetween(sent: SubOrderContent, now: SubOrderContent): SubOrderPatch | undefined {
  const patch: SubOrderPatch = {};
  if (sent.product_id !== now.product_id) patch.product_id = now.product_id;
  if (sent.price !== now.price) patch.price = now.price;
  for (const field of emptiable) if (sent[field] !== now[field]) patch[field] = now[field] ?? null;
  if (!areSameOptions(sent.product_options, now.product_options)) patch.product_options = optionsPatch(now);
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/**
 * What differs between what the service shows and what is wanted.
 *
 * @param hadStatus whether we sent a status before. Otherwise the one that the service shows is its own, and stays.
 */
function patchOf(
  theirs: SubOrder,
  now: SubOrderContent,
  { hadStatus }: { hadStatus: boolean },
): SubOrderPatch | undefined {
  const patch: SubOrderPatch = {};
  if (theirs.product_id !== now.product_id) patch.product_id = now.product_id;
  if (!isSamePrice(theirs.price, now.price)) patch.price = now.price;
  const isStatusOurs = now.status !== undefined || hadStatus;
  if (isStatusOurs && (theirs.status ?? '') !== (now.status ?? '')) patch.status = now.status ?? null;
  for (const field of ['invoice', 'delivery_service'] as const) {
    if ((now[field] ?? '') !== (theirs[field] ?? '')) patch[field] = now[field] ?? null;
  }
  for (const field of ['delivery_started_at', 'delivered_at'] as const) {
    if (!isSameSecond(now[field], theirs[field])) patch[field] = now[field] ?? null;
  }
  if (!areSameOptions(theirs.product_options ?? {}, now.product_options)) patch.product_options = optionsPatch(now);
  return Object.keys(patch).length > 0 ? patch : undefined;
}

const optionsPatch = ({ product_options: options }: SubOrderContent) =>
  Object.keys(options).length === 0 ? null : options;

/** What to remember of a found sub-order: as wanted, but for the fields that are still to be changed. */
function contentOf(theirs: SubOrder, now: SubOrderContent, patch: SubOrderPatch | undefined): SubOrderContent {
  if (!patch) return now;
  const shown = {
    product_id: theirs.product_id,
    price: theirs.price === null ? now.price : String(theirs.price.cents),
    status: theirs.status ?? undefined,
    delivery_started_at: theirs.delivery_started_at ?? undefined,
    delivered_at: theirs.delivered_at ?? undefined,
    invoice: theirs.invoice ?? undefined,
    delivery_service: theirs.delivery_service || undefined,
    product_options: theirs.product_options ?? {},
  };
  const differing = Object.entries(shown).filter(([field]) => field in patch);
  const unchanged = Object.entries(now).filter(([field]) => !(field in patch));
  const all = [...unchanged, ...differing].filter(([, value]) => value !== undefined);
  return Object.fromEntries(all) as SubOrderContent;
}
