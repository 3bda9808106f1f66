import type { SubOrder } from '../review-api/index.ts';
import type { LineLinkRow } from '../warehouse/order-links.ts';
import type { SubOrderContent } from './order-body.ts';
import { likeness } from './same-content.ts';

export type Line = Readonly<{ lineCode: string; content: SubOrderContent }>;
export type LineLink = LineLinkRow<SubOrderContent>;

/**
 * A sub-order that belongs to a line.
 *
 * - `linked`: by its id, or by a lost response; `content` is what was last sent.
 * - `taken-over`: it belonged to a line that the shop has removed; `from` is that line's code.
 * - `unmanaged`: somebody else created it.
 */
export type Match = { subOrder: SubOrder; idsBefore: readonly number[] | null } & (
  | { kind: 'linked'; content: SubOrderContent; wasSentAgain: boolean; isExact: boolean; isNew: boolean }
  | { kind: 'taken-over'; content: SubOrderContent; from: string }
  | { kind: 'unmanaged' }
);

export type Matches = {
  /** By line code. */
  ofLines: Map<string, Match>;
  /** Sub-orders of lines that the shop has removed and that no other line took over, by line code. */
  ofRemovedLines: Map<string, SubOrder>;
  /** Second sub-orders of lines whose creation was sent twice and carried out twice. */
  duplicates: { lineCode: string; subOrder: SubOrder }[];
};

/**
 * Finds the sub-order of each line, in this order:
 *
 * 1. by the id in its link;
 * 2. a line whose creation brought no response: among the sub-orders that were not there before it was sent;
 * 3. a line without a sub-order: among the sub-orders of lines that the shop has removed (shops give lines new codes), then
 *    among those that somebody else created;
 * 4. for a line whose creation was sent twice: an equal sub-order that no line has, which the first request created. The service
 *    brought no response to that, or did not show its sub-order for a while.
 *
 * In steps 2 and 3 all exact matches are made before any weaker one, so that no line takes what is exactly another's.
 *
 * @param untouched lines that the shop has but that are not pushed now: no other line takes their sub-orders.
 */
export function matchSubOrders(
  theirs: readonly SubOrder[],
  lines: readonly Line[],
  links: readonly LineLink[],
  untouched: ReadonlySet<string>,
): Matches {
  const taken = new Set<number>();
  const free = () => theirs.filter((one) => !taken.has(one.id));
  /** Sub-orders of links, by line code. */
  const ofLinks = new Map<string, { subOrder: SubOrder; isExact: boolean; isNew: boolean }>();
  const assign = ({ lineCode }: LineLink, subOrder: SubOrder, how: { isExact: boolean; isNew: boolean }) => {
    ofLinks.set(lineCode, { subOrder, ...how });
    taken.add(subOrder.id);
  };

  // 1. By id.
  const byId = new Map(theirs.map((subOrder) => [subOrder.id, subOrder]));
  for (const link of links) {
    const subOrder = link.subOrderId === null ? undefined : byId.get(link.subOrderId);
    if (subOrder && !taken.has(subOrder.id)) assign(link, subOrder, { isExact: true, isNew: false });
  }

  // 2. Creations without a response.
  for (const like of ['exact', 'similar'] as const) {
    for (const link of links.filter((one) => one.subOrderId === null && !ofLinks.has(one.lineCode))) {
      const subOrder = free().find((one) => isNewSince(link, one) && likeness(one, link.content) === like);
      if (subOrder) assign(link, subOrder, { isExact: like === 'exact', isNew: true });
    }
  }

  const ofLines = new Map<string, Match>();
  const removed = new Map<string, { link: LineLink; subOrder: SubOrder }>();
  const wanted = new Set(lines.map((line) => line.lineCode));
  for (const link of links) {
    const { lineCode, content, idsBefore, wasSentAgain } = link;
    const own = ofLinks.get(lineCode);
    if (!own || untouched.has(lineCode)) continue;
    if (wanted.has(lineCode)) ofLines.set(lineCode, { kind: 'linked', ...own, content, idsBefore, wasSentAgain });
    else removed.set(lineCode, { link, subOrder: own.subOrder });
  }

  // 3. Lines without a sub-order.
  const unmatched = () => lines.filter((one) => !ofLines.has(one.lineCode));
  for (const like of ['exact', 'similar'] as const) {
    for (const line of unmatched()) {
      const replaced = [...removed.values()].find((one) => likeness(one.subOrder, line.content) === like);
      if (!replaced) continue;
      const { subOrder, link } = replaced;
      removed.delete(link.lineCode);
      const { content, idsBefore, lineCode: from } = link;
      ofLines.set(line.lineCode, { kind: 'taken-over', subOrder, content, idsBefore, from });
    }
    for (const line of unmatched()) {
      const subOrder = free().find((one) => likeness(one, line.content) === like);
      if (!subOrder) continue;
      taken.add(subOrder.id);
      ofLines.set(line.lineCode, { kind: 'unmanaged', subOrder, idsBefore: null });
    }
  }

  // 4. Creations that were carried out twice.
  const duplicates: Matches['duplicates'] = [];
  for (const link of links.filter((one) => one.wasSentAgain && ofLinks.has(one.lineCode))) {
    for (const subOrder of free()) {
      if (!isNewSince(link, subOrder) || likeness(subOrder, link.content) !== 'exact') continue;
      taken.add(subOrder.id);
      duplicates.push({ lineCode: link.lineCode, subOrder });
    }
  }

  const ofRemovedLines = new Map([...removed].map(([lineCode, { subOrder }]) => [lineCode, subOrder]));
  return { ofLines, ofRemovedLines, duplicates };
}

/** Whether the sub-order was not there yet when the creation was sent. */
const isNewSince = ({ idsBefore }: LineLink, { id }: SubOrder): boolean => !idsBefore?.includes(id);
