import type { SubOrder, SubOrderPatch } from '../review-api/index.ts';
import type { SubOrderContent } from './order-body.ts';
import { isSameContent } from './same-content.ts';

export type Line = Readonly<{ lineCode: string; content: SubOrderContent }>;

/** What is remembered of a line: its sub-order, or that one was about to be added (`subOrderId` null). */
export type LineLink = Readonly<{
  lineCode: string;
  subOrderId: number | null;
  /** As last pushed, or as being added. */
  content: SubOrderContent;
  /** The order's sub-orders just before it was added; null for one that was found, not made, by this program. */
  idsBefore: readonly number[] | null;
}>;

export type SubOrderDiff = {
  add: Line[];
  change: (Line & { subOrderId: number; idsBefore: readonly number[] | null; patch: SubOrderPatch })[];
  /** Found by content, or after a lost answer: to be remembered, nothing to be sent. */
  link: (Line & { subOrderId: number; idsBefore: readonly number[] | null })[];
  remove: { lineCode: string; subOrderId: number }[];
  /** Lines that are gone while their sub-order stays: it has reviews, or this program did not make it. */
  spared: { lineCode: string; subOrderId: number; why: 'reviews' | 'foreign' }[];
  /** Links that stand for nothing any more. */
  forget: string[];
};

type Match = { subOrder: SubOrder; link: LineLink | undefined };

/**
 * What to do so that the service's sub-orders of one order are the shop's lines, each once.
 *
 * @param theirs the sub-orders in the answer to `POST /v1/orders`.
 * @param ours the shop's lines that can be pushed.
 * @param links what is remembered of the order's lines.
 * @param untouched lines that the shop has but that cannot be pushed now: their sub-orders stay as they are.
 */
export function diffSubOrders(
  theirs: readonly SubOrder[],
  ours: readonly Line[],
  links: readonly LineLink[],
  untouched: ReadonlySet<string> = new Set(),
): SubOrderDiff {
  const diff: SubOrderDiff = { add: [], change: [], link: [], remove: [], spared: [], forget: [] };
  const held = holdByLink(theirs, links);
  const taken = new Set([...held.values()].map((subOrder) => subOrder.id));
  const linkOf = new Map(links.map((link) => [link.lineCode, link]));
  const lineCodes = new Set(ours.map((line) => line.lineCode));
  const gone = links.filter((link) => !lineCodes.has(link.lineCode) && !untouched.has(link.lineCode));

  for (const line of ours) {
    const match = matchLine(line, { theirs, held, taken, linkOf, gone });
    if (match === undefined) diff.add.push(line);
    else settle(diff, line, match);
  }
  for (const link of gone) {
    const subOrder = held.get(link.lineCode);
    if (subOrder === undefined) diff.forget.push(link.lineCode);
    else retire(diff, link, subOrder);
  }
  return diff;
}

/** The sub-order of each link: by its id, or, after a lost answer, the new one that has the content sent. */
function holdByLink(theirs: readonly SubOrder[], links: readonly LineLink[]): Map<string, SubOrder> {
  const byId = new Map(theirs.map((subOrder) => [subOrder.id, subOrder]));
  const held = new Map<string, SubOrder>();
  for (const link of links) {
    const subOrder = link.subOrderId === null ? undefined : byId.get(link.subOrderId);
    if (subOrder) held.set(link.lineCode, subOrder);
  }
  const taken = new Set([...held.values()].map((subOrder) => subOrder.id));
  for (const link of links) {
    if (link.subOrderId !== null) continue;
    const isNew = (one: SubOrder) => !taken.has(one.id) && !link.idsBefore?.includes(one.id);
    const found =
      theirs.find((one) => isNew(one) && isSameContent(one, link.content)) ??
      theirs.find((one) => isNew(one) && one.product_id === link.content.product_id);
    if (!found) continue;
    held.set(link.lineCode, found);
    taken.add(found.id);
  }
  return held;
}

function matchLine(
  line: Line,
  at: {
    theirs: readonly SubOrder[];
    held: Map<string, SubOrder>;
    taken: Set<number>;
    linkOf: ReadonlyMap<string, LineLink>;
    gone: readonly LineLink[];
  },
): Match | undefined {
  const own = at.held.get(line.lineCode);
  if (own) return { subOrder: own, link: at.linkOf.get(line.lineCode) };
  // A shop that gives its lines new codes on every edit: the sub-order of a line that is gone goes on for its heir.
  const heirOf = at.gone.find((link) => {
    const subOrder = at.held.get(link.lineCode);
    return subOrder !== undefined && isSameContent(subOrder, line.content);
  });
  const inherited = heirOf && at.held.get(heirOf.lineCode);
  if (heirOf && inherited) {
    at.held.delete(heirOf.lineCode);
    return { subOrder: inherited, link: { ...heirOf, subOrderId: null } };
  }
  const free = at.theirs.find((one) => !at.taken.has(one.id) && isSameContent(one, line.content));
  if (!free) return undefined;
  at.taken.add(free.id);
  return { subOrder: free, link: undefined };
}

function settle(diff: SubOrderDiff, line: Line, { subOrder, link }: Match): void {
  const idsBefore = link?.idsBefore ?? null;
  const patch = link ? patchBetween(link.content, line.content) : patchOfFound(subOrder, line.content);
  if (patch) diff.change.push({ ...line, subOrderId: subOrder.id, idsBefore, patch });
  else if (link?.subOrderId !== subOrder.id) diff.link.push({ ...line, subOrderId: subOrder.id, idsBefore });
}

function retire(diff: SubOrderDiff, link: LineLink, subOrder: SubOrder): void {
  const { lineCode } = link;
  // A count that is not told must not be taken for none: deleting would take the customers' reviews along.
  if (subOrder.reviews_count !== 0) diff.spared.push({ lineCode, subOrderId: subOrder.id, why: 'reviews' });
  else if (link.idsBefore === null) diff.spared.push({ lineCode, subOrderId: subOrder.id, why: 'foreign' });
  else diff.remove.push({ lineCode, subOrderId: subOrder.id });
}

const emptiable = ['delivery_started_at', 'delivered_at', 'invoice', 'delivery_service'] as const;

/** Only what differs between what was pushed and what is now; undefined where nothing does. */
function patchBetween(pushed: SubOrderContent, now: SubOrderContent): SubOrderPatch | undefined {
  const patch: SubOrderPatch = {};
  if (pushed.product_id !== now.product_id) patch.product_id = now.product_id;
  if (pushed.price !== now.price) patch.price = now.price;
  if (pushed.status !== now.status && now.status !== undefined) patch.status = now.status;
  for (const field of emptiable) if (pushed[field] !== now[field]) patch[field] = now[field] ?? null;
  const options = (content: SubOrderContent) => JSON.stringify(Object.entries(content.product_options).sort());
  if (options(pushed) !== options(now)) patch.product_options = now.product_options;
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** For one found by content: product, options and price agree; of the rest, what the service tells otherwise. */
function patchOfFound(theirs: SubOrder, now: SubOrderContent): SubOrderPatch | undefined {
  const patch: SubOrderPatch = {};
  if (now.status !== undefined && theirs.status !== now.status) patch.status = now.status;
  for (const field of ['invoice', 'delivery_service'] as const) {
    if ((now[field] ?? '') !== (theirs[field] ?? '')) patch[field] = now[field] ?? null;
  }
  for (const field of ['delivery_started_at', 'delivered_at'] as const) {
    if (secondOf(now[field]) !== secondOf(theirs[field])) patch[field] = now[field] ?? null;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

function secondOf(iso: string | null | undefined): number | undefined {
  const milliseconds = Date.parse(iso ?? '');
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}
