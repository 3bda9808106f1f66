import type { SubOrder } from '../../review-api/index.ts';
import type { LineLinkRow } from '../../warehouse/orders/order-links.ts';
import type { SubOrderContent } from './order-body.ts';
import { openPool } from './sub-order-pool.ts';

export type Line = Readonly<{ lineCode: string; content: SubOrderContent }>;
export type LineLink = LineLinkRow<SubOrderContent>;

/**
 * A sub-order that belongs to a line.
 *
 * - `linked`: by its id, or by a lost response; `content` is what was last sent.
 * - `taken-over`: it belonged to a line that the shop has removed, or was created by a request whose sub-order was not shown until now;
 *   `from` is the code of the line that it was created for.
 * - `unmanaged`: somebody else created it.
 */
export type Match = { subOrder: SubOrder; idsBefore: readonly number[] | null } & (
  | { kind: 'linked'; content: SubOrderContent; isExact: boolean; isNew: boolean }
  | { kind: 'taken-over'; content: SubOrderContent; from: string }
  | { kind: 'unmanaged' }
);

export type Matches = {
  /** By line code. */
  ofLines: Map<string, Match>;
  /** Sub-orders of lines that the shop has removed and that no other line took over, by line code. */
  ofRemovedLines: Map<string, SubOrder>;
  /** Sub-orders that were not shown in time and that no line took over, with the codes of the lines that they were created for. */
  duplicates: { lineCode: string; subOrder: SubOrder }[];
  /** Links of ours whose sub-orders the service does not show: it may do so later. */
  notShown: LineLink[];
};

/**
 * Finds the sub-order of each line, in this order:
 *
 * 1. by the id in its link;
 * 2. a line whose creation brought no response: among the sub-orders that were not there before it was sent;
 * 3. of earlier requests whose sub-orders were not shown for a while: sub-orders that were not there before and are exactly what
 *    was sent then, whatever has become of the line since. The lines of step 4 may take them over, the others are duplicates;
 * 4. a line without a sub-order: among the sub-orders of lines that the shop has removed (shops give lines new codes) and those of
 *    step 3, then among those that somebody else created.
 *
 * In steps 2 and 4 all exact matches are made before any weaker one, so that no line takes what is exactly another's. The weaker
 * ones of step 2 follow step 3.
 *
 * @param untouched lines that the shop has but that are not pushed now: no other line takes their sub-orders.
 * @param unseen what earlier pushes found `notShown`.
 */
export function matchSubOrders(
  theirs: readonly SubOrder[],
  lines: readonly Line[],
  links: readonly LineLink[],
  untouched: ReadonlySet<string>,
  unseen: readonly LineLink[],
): Matches {
  const wanted = new Set(lines.map((line) => line.lineCode));
  const free = openPool(theirs, (one) => one);
  /** Sub-orders of links, by line code. */
  const ofLinks = new Map<string, { subOrder: SubOrder; isExact: boolean; isNew: boolean }>();
  const assign = ({ lineCode }: LineLink, subOrder: SubOrder, how: { isExact: boolean; isNew: boolean }) => {
    ofLinks.set(lineCode, { subOrder, ...how });
    free.take(subOrder.id);
  };

  // 1. By id.
  const byId = new Map(theirs.map((subOrder) => [subOrder.id, subOrder]));
  for (const link of links) {
    const subOrder = link.subOrderId === null ? undefined : byId.get(link.subOrderId);
    if (subOrder && !free.isTaken(subOrder.id)) assign(link, subOrder, { isExact: true, isNew: false });
  }

  // 2. Creations without a response.
  const findPending = (like: 'exact' | 'similar') => {
    for (const link of links.filter((one) => one.subOrderId === null && !ofLinks.has(one.lineCode))) {
      // What is found for a removed line is removed: it must be exactly what was sent.
      if (like === 'similar' && !wanted.has(link.lineCode)) continue;
      const subOrder = free.find(link.content, like, (one) => isNewSince(link, one));
      if (subOrder) assign(link, subOrder, { isExact: like === 'exact', isNew: true });
    }
  };
  findPending('exact');

  // 3. Creations that were not shown for a while.
  const late: Spare[] = [];
  for (const link of unseen) {
    const next = () => {
      if (link.subOrderId === null) return free.find(link.content, 'exact', (one) => isNewSince(link, one));
      return free.isTaken(link.subOrderId) ? undefined : byId.get(link.subOrderId);
    };
    for (let subOrder = next(); subOrder !== undefined; subOrder = next()) {
      free.take(subOrder.id);
      late.push({ link, subOrder, isLate: true });
    }
  }
  findPending('similar');

  const ofLines = new Map<string, Match>();
  const notShown: LineLink[] = [];
  const ofRemoved: Spare[] = [];
  for (const link of links) {
    const { lineCode, content, idsBefore } = link;
    if (untouched.has(lineCode)) continue;
    const own = ofLinks.get(lineCode);
    if (own === undefined) {
      if (link.idsBefore !== null) notShown.push(link);
    } else if (wanted.has(lineCode)) ofLines.set(lineCode, { kind: 'linked', ...own, content, idsBefore });
    else ofRemoved.push({ link, subOrder: own.subOrder, isLate: false });
  }

  // 4. Lines without a sub-order.
  const spares = openPool([...ofRemoved, ...late], (one) => one.subOrder);
  const unmatched = () => lines.filter((one) => !ofLines.has(one.lineCode));
  for (const like of ['exact', 'similar'] as const) {
    for (const line of unmatched()) {
      const spare = spares.find(line.content, like);
      if (!spare) continue;
      spares.take(spare.subOrder.id);
      const { content, idsBefore, lineCode: from } = spare.link;
      ofLines.set(line.lineCode, { kind: 'taken-over', subOrder: spare.subOrder, content, idsBefore, from });
    }
    for (const line of unmatched()) {
      const subOrder = free.find(line.content, like);
      if (!subOrder) continue;
      free.take(subOrder.id);
      ofLines.set(line.lineCode, { kind: 'unmanaged', subOrder, idsBefore: null });
    }
  }

  const left = (isLate: boolean) =>
    spares
      .left()
      .flatMap(({ link, subOrder, ...spare }) =>
        spare.isLate === isLate ? [{ lineCode: link.lineCode, subOrder }] : [],
      );
  const ofRemovedLines = new Map(left(false).map(({ lineCode, subOrder }) => [lineCode, subOrder]));
  return { ofLines, ofRemovedLines, duplicates: left(true), notShown };
}

/** A sub-order that no line has, and its link. `isLate`: it was found in step 3. */
type Spare = { link: LineLink; subOrder: SubOrder; isLate: boolean };

/** Whether the sub-order was not there yet when the creation was sent. */
const isNewSince = ({ idsBefore }: LineLink, { id }: SubOrder): boolean => !idsBefore?.includes(id);
