/**
 * The protocol "one line, never twice": how one order of the shop gets to the service, as src/orders/push/push-order.ts does
 * it. Matching is not modelled: the model calls the real `diffSubOrders`.
 *
 * The world: the shop's versions of one order, the service, requests in the air, the warehouse's rows about the order,
 * and two workers. A worker does this, one step an action:
 *
 *     idle ─ read ─▶ read ─ lease ─▶ leased ─ POST ─▶ posted ─ save links ─▶ applying ─ send ─▶ waiting ─ response ─▶ applying
 *                     ▲     │ stale   ▲▲                                        │                  │ lost
 *                     │     └▶ stale ─┘└──────────── shown: look again ─────────┼──── looking ◀────┘
 *                     └── something is to be removed ── ending ◀── record ──────┘
 *                                                         └─ move the cursor ─▶ idle
 *
 * Between POST and links the worker asks, by a PUT, about each linked sub-order that the response did not show.
 *
 * A push of a run removes nothing: it takes note of what is to be removed. The last batch of the run pushes the order once
 * more and removes, but no more than was noted. How much is usual is the decision of removal-guard.ts and not modelled.
 *
 * What the model assumes, because the code cannot enforce it:
 *
 * - A request ends at the service before the lease runs out under which it was sent (`leaseOutlastsRequests`), and one
 *   whose response was lost ends while its worker looks (15 s). Where it takes longer, the code keeps the lease until it
 *   runs out, and checks for a duplicate an hour later. PUT and DELETE end before their worker goes on.
 * - Checking the lease and sending the request is one step, and the clock of a frozen process goes on.
 * - A push takes no longer than the lookback, and no transaction of the shop commits later than that after its date: what the
 *   cursor passed while another worker was busy, or while a change was not committed, is read once more.
 */
import { diffSubOrders, type Line, type LineLink } from '../../src/orders/order/diff-sub-orders.ts';
import { matchSubOrders } from '../../src/orders/order/match-sub-orders.ts';
import type { SubOrderContent } from '../../src/orders/order/order-body.ts';
import type { SubOrder } from '../../src/review-api/index.ts';
import type { Model, Step } from './check.ts';

/** What keeps the promise. Each can be taken away, and then the checker finds the defect that it was built against. */
export const orderDesign = {
  /** Every statement that writes about an order checks the lease. */
  writesAreFenced: true,
  /** The lease is checked right before each request that writes. */
  sendsOnlyUnderLease: true,
  leaseOutlastsRequests: true,
  leasesRunOut: true,
  /** A lease is not given back while a request sent under it may still be carried out. */
  keepsLeaseOfLostRequest: true,
  /** Which sub-orders are about to be created, and which are taken over, is written before the requests. */
  linksBeforeRequests: true,
  /** A create without a response is looked for before it is sent again. */
  looksForLostCreate: true,
  /** A linked sub-order that the response to the POST does not show is asked about before it is made again. */
  asksAboutHidden: true,
  /** A copy of the order is read again if the order was pushed since. */
  rereadsStaleCopy: true,
  /** An order of which no push is recorded is read again under the lease: another process may have deleted it since. */
  rereadsNewOrder: true,
  /** Sub-orders are distinguished by options and price, not by their product alone. */
  matchesByContent: true,
  /** The warehouse knows of an order before the first request about it is sent. */
  knowsOrderBeforePost: true,
  /** An order that failed, or of which a line was sent twice, is pushed again. */
  failedOrderIsRetried: true,
  /** After a push that was not recorded, what was pushed before it counts no more. */
  forgetsFingerprintOfLostPush: true,
  /** After a push that was not recorded, the lines are compared with what the service shows. */
  distrustsLinesOfLostPush: true,
  /** A run reads from before its cursor. */
  readsLookback: true,
  /** Removals wait for the last batch of the run, which has counted them. */
  removesOnlyWhatWasCounted: true,
  /** Removals that a run did not make are made by the last batch of a later one. */
  remembersRemovals: true,
};
export type OrderDesign = typeof orderDesign;

/** Lines by code. */
export type Version = Readonly<Record<string, Content>> | 'deleted';
/** `S` or `M`: that size of product 1 for 10. Anything else, as in what real code did, as JSON. */
export type Content = string;

export type OrderScenario = {
  /** The shop's versions of the order, in the order in which they follow each other. */
  versions: readonly Version[];
  /** Sub-orders that another integration has created. */
  unmanaged?: readonly Content[];
  /** A change of the shop may commit after the cursor has passed its date. */
  commitsLate?: true;
  faults: number;
  /** To judge what real code did. */
  traced?: {
    begin: Partial<OrderState>;
    /** Of each version, as what was pushed is recorded. */
    fingerprints: readonly string[];
    /** Whether lines of the version wait for a product id: they stay as unsure as they were. */
    waits: readonly boolean[];
    /** Whether the version has no line at all: then its removals are held back at once. */
    isEmptied: readonly boolean[];
    workers: readonly WorkerName[];
  };
};

export type WorkerName = 'A' | 'B';
export type Sub = { id: number; content: Content };
export type Link = { line: string; id: number | null; content: Content; before: number[] | null };
export type Operation =
  | { kind: 'change'; line: string; id: number; content: Content; before: number[] | null }
  | { kind: 'remove'; line: string; id: number; isDuplicate: boolean }
  | { kind: 'create'; line: string; content: Content };

/** What a run reads. `upTo`: where the cursor goes once it has ended. `isAlone`: it began while the other worker was idle. */
type Copy = {
  version: number;
  upTo: number;
  isAlone: boolean;
  /** It is the last batch of a run, and removes what was noted. */
  isRemoving: boolean;
};
/** One try to push the order. */
type Attempt = Copy & {
  /** The warehouse did not know of the order. */
  isNew: boolean;
  wasPosted: boolean;
  /** Sub-orders that are to be removed by the last batch of the run; null until the service has accepted the order. */
  removalsWanted: number | null;
  links: Link[];
  /** Creations whose sub-orders the service has not shown; and those of before for which this push looks for the last time. */
  unseen: Link[];
  checked: Link[];
  failed: string[];
  /** The push before was not recorded. */
  isUnsure: boolean;
  /** A request whose outcome is unknown may still be carried out. */
  keepsLease: boolean;
};
type Worker =
  | { at: 'idle' }
  | (Copy & { at: 'read'; isStale: boolean })
  /** `stale`: the copy is read again under the lease. */
  | (Attempt & { at: 'stale' | 'leased' })
  /** `absent`: sub-orders that the service said it does not have. */
  | (Attempt & { at: 'posted'; seen: Sub[]; absent: number[] })
  | (Attempt & { at: 'applying' | 'waiting'; seen: Sub[]; todo: Operation[] })
  | (Attempt & { at: 'looking'; seen: Sub[]; todo: Operation[] })
  | (Attempt & { at: 'deleted' })
  | { at: 'ending'; version: number; upTo: number; isAlone: boolean };

/** What an observer records of an action. `holder`: whose lease the statement has checked. */
export type OrderEvent =
  | { kind: 'shop' | 'cursor' | 'hold' }
  | { kind: 'lease' | 'return' | 'links' | 'record' | 'forget'; holder: WorkerName }
  | { kind: 'post' | 'delete order' }
  | { kind: 'request'; operation: Operation; status: 'done' | 'refused' | 'failed' };

export type OrderState = {
  /** The shop's version now, and the one whose date has passed: it may not be committed yet. */
  shop: number;
  dated: number;
  service: { hasOrder: boolean; subs: Sub[]; nextId: number };
  /** Requests that the service may still carry out. `by`: who sent it; `gone`: nobody waits for the response. */
  air: { operation: Operation; by: WorkerName | 'gone' }[];
  /**
   * sync.order_links and sync.cursors: what was last pushed, whether it failed, up to where changes were read, and whether
   * another worker was busy then, so that the lookback makes the next run read the order again.
   */
  row: {
    isKnown: boolean;
    /** Some push was recorded since the order was last deleted at the service. */
    isRecorded: boolean;
    /** The fingerprint of a version. */
    pushed: string | null;
    isUnsure: boolean;
    isRetryDue: boolean;
    /** Sub-orders that are to be removed, or 1 for the order; and whether that is held back (only in recordings). */
    removalsWanted: number;
    isHeld: boolean;
    cursor: number;
    isInLookback: boolean;
  };
  /** The version that was recorded last, and the newest one that ever was. For the invariant only. */
  recorded: { last: number; newest: number };
  /** sync.sub_order_links, and the creations in sync.order_links whose sub-orders were not shown. */
  links: Link[];
  unseen: Link[];
  lease: { holder: WorkerName | 'dead' | null; isOver: boolean };
  workers: { A: Worker; B: Worker };
  /** More was removed than had been counted. For the invariant only. */
  isUncounted: boolean;
  /** A version was sent that is older than one that was recorded. For the invariant only. */
  isOutdated: boolean;
  faultsLeft: number;
};

export const parseContent = (content: Content): SubOrderContent =>
  content.startsWith('{') ? JSON.parse(content) : { product_id: 1, price: '10', product_options: { size: content } };
export function formatContent(content: SubOrderContent): Content {
  const { size } = content.product_options;
  const keys = [...Object.keys(content), ...Object.keys(content.product_options)].sort();
  const text = JSON.stringify(content, keys);
  return size !== undefined && text === JSON.stringify(parseContent(size), keys) ? size : text;
}
/** As the service shows it. */
function subOrderOf(sub: Sub): SubOrder {
  const { price, ...content } = parseContent(sub.content);
  return {
    ...content,
    id: sub.id,
    price: { cents: Math.round(Number(price) * 100) },
    reviews_count: 0,
  } as unknown as SubOrder;
}
const lineLinkOf = ({ line, id, content, before }: Link): LineLink => ({
  lineCode: line,
  subOrderId: id,
  content: parseContent(content),
  idsBefore: before,
});
const linesOf = (version: Version): Line[] =>
  Object.entries(version === 'deleted' ? {} : version).map(([lineCode, content]) => ({
    lineCode,
    content: parseContent(content),
  }));

export function orderModel(scenario: OrderScenario, changed: Partial<OrderDesign> = {}): Model<OrderState, OrderEvent> {
  const design: OrderDesign = { ...orderDesign, ...changed };
  const { traced } = scenario;
  const versionAt = (index: number) => scenario.versions[index] as Version;
  const fingerprintOf = (index: number) => traced?.fingerprints[index] ?? JSON.stringify(versionAt(index));
  const unmanaged = (scenario.unmanaged ?? []).map((content, index) => ({ id: index + 1, content }));

  const initial: OrderState = {
    shop: 0,
    dated: 0,
    service: { hasOrder: unmanaged.length > 0, subs: unmanaged, nextId: unmanaged.length + 1 },
    air: [],
    row: {
      isKnown: false,
      isRecorded: false,
      pushed: null,
      isUnsure: false,
      isRetryDue: false,
      removalsWanted: 0,
      isHeld: false,
      cursor: -1,
      isInLookback: false,
    },
    recorded: { last: -1, newest: -1 },
    links: [],
    unseen: [],
    lease: { holder: null, isOver: false },
    workers: { A: { at: 'idle' }, B: { at: 'idle' } },
    isUncounted: false,
    isOutdated: false,
    faultsLeft: scenario.faults,
    ...traced?.begin,
  };

  /** The real difference between what a worker has seen at the service and what it wants there. */
  function difference(
    { version, links, unseen, failed, isUnsure, isRemoving }: Attempt,
    seen: readonly Sub[],
    noted: OrderState['row'],
  ) {
    const blank = <T extends { content: object }>(one: T): T => ({ ...one, content: parseContent('S') });
    const isBlank = !design.matchesByContent;
    const lines = linesOf(versionAt(version)).filter((line) => !failed.includes(line.lineCode));
    const known = links.map(lineLinkOf);
    const unseenBefore = unseen.map(lineLinkOf);
    const theirs = seen.map((sub) => subOrderOf(isBlank ? { ...sub, content: 'S' } : sub));
    const diff = diffSubOrders(
      theirs,
      isBlank ? lines.map(blank) : lines,
      isBlank ? known.map(blank) : known,
      new Set(failed),
      { unseen: isBlank ? unseenBefore.map(blank) : unseenBefore, areLinesUnsure: isUnsure },
    );
    const wanted = new Map(lines.map((line) => [line.lineCode, formatContent(line.content)]));
    const meant = (line: string, content: Content) => (isBlank ? (wanted.get(line) ?? content) : content);
    const toLink = (link: LineLink): Link => ({
      line: link.lineCode,
      id: link.subOrderId,
      content: meant(link.lineCode, formatContent(link.content)),
      before: link.idsBefore && [...link.idsBefore],
    });
    const removal = (one: { lineCode: string; subOrderId: number }, { isDuplicate }: { isDuplicate: boolean }) =>
      ({ kind: 'remove', line: one.lineCode, id: one.subOrderId, isDuplicate }) as const;
    const mayRemove = mayRemoveNow({ isRemoving }, noted, diff.remove.length);
    const operations: Operation[] = [
      ...diff.change.map((one) => {
        const content = meant(one.lineCode, formatContent(one.content));
        return {
          kind: 'change' as const,
          line: one.lineCode,
          id: one.subOrderId,
          content,
          before: one.idsBefore && [...one.idsBefore],
        };
      }),
      ...(mayRemove ? diff.remove.map((one) => removal(one, { isDuplicate: false })) : []),
      ...diff.removeDuplicates.map((one) => removal(one, { isDuplicate: true })),
      ...diff.create.map((one) => ({
        kind: 'create' as const,
        line: one.lineCode,
        content: meant(one.lineCode, formatContent(one.content)),
      })),
    ];
    const removalsWanted = mayRemove ? 0 : diff.remove.length;
    const [now, notShown] = [diff.links.map(toLink), diff.unseen.map(toLink)];
    return { operations, links: now, unseen: notShown, gone: diff.dropLinks, removalsWanted };
  }

  /** As `mayRemove` in push-order.ts. @param noted what an earlier push took note of. */
  const mayRemoveNow = ({ isRemoving }: Pick<Copy, 'isRemoving'>, noted: OrderState['row'], wanted: number): boolean =>
    !design.removesOnlyWhatWasCounted || (isRemoving && !noted.isHeld && wanted <= noted.removalsWanted);

  function next(state: OrderState): Step<OrderState, OrderEvent>[] {
    const steps: Step<OrderState, OrderEvent>[] = [];
    const add: Add = (action, change, observed) =>
      steps.push({ action, state: { ...state, ...change }, ...(observed && { observed }) });
    const fault: Add = (action, change, observed) => {
      if (state.faultsLeft === 0) return;
      const after = { ...state, ...change, faultsLeft: state.faultsLeft - 1 };
      steps.push({ action, state: after, isFault: true, ...(observed && { observed }) });
    };
    if (state.dated > state.shop) add('the late change of the shop is committed', { shop: state.dated });
    else if (state.shop + 1 < scenario.versions.length) {
      const [shop, observed] = [state.shop + 1, { kind: 'shop' as const }];
      steps.push({
        action: 'the shop changes the order',
        state: { ...state, shop, dated: shop },
        isFault: true,
        observed,
      });
      if (scenario.commitsLate) fault('the shop changes the order, and commits it late', { dated: shop });
    }
    if (traced && state.row.removalsWanted > 0 && !state.row.isHeld)
      add('a run holds the removals back', { row: { ...state.row, isHeld: true } }, { kind: 'hold' });
    for (const name of traced?.workers ?? (['A', 'B'] as const)) workerSteps(state, name, add, fault);
    leaseSteps(state, add, fault);
    for (const request of state.air) {
      if (request.by !== 'gone' && state.workers[request.by].at === 'waiting') continue;
      const air = without(state.air, request);
      const { operation } = request;
      add(
        `the service carries out ${show(operation)}, late`,
        { air, service: carriedOut(state.service, operation).service },
        { kind: 'request', operation, status: 'done' },
      );
      add(`${show(request.operation)} never reaches the service`, { air });
    }
    return steps;
  }

  /** Costs no request: it stands at the service as it is in the shop, or is deleted and was never there. */
  function isUnchanged({ pushed, isRetryDue, isKnown, removalsWanted }: OrderState['row'], copy: Copy): boolean {
    if (versionAt(copy.version) === 'deleted') return !isKnown;
    if (isRetryDue || (copy.isRemoving && removalsWanted > 0)) return false;
    return pushed === fingerprintOf(copy.version);
  }

  type Add = (action: string, change: Partial<OrderState>, observed?: OrderEvent) => void;

  function workerSteps(state: OrderState, name: WorkerName, add: Add, fault: Add): void {
    const worker = state.workers[name];
    const { lease, row, service } = state;
    const become = (to: Worker): Pick<OrderState, 'workers'> => ({ workers: { ...state.workers, [name]: to } });
    const isHolder = lease.holder === name;
    const mayWrite = isHolder || !design.writesAreFenced;
    const maySend = (isHolder && !lease.isOver) || !design.sendsOnlyUnderLease;
    const givenBack = isHolder ? { holder: null, isOver: false } : lease;
    const otherName = name === 'A' ? 'B' : 'A';
    const other = state.workers[otherName];
    const isOtherBusy = other.at !== 'idle';
    /** The push has ended. The last batch of a run moves no cursor. */
    const ended = ({ version, upTo, isAlone, isRemoving }: Copy) =>
      become(isRemoving ? { at: 'idle' } : { at: 'ending', version, upTo, isAlone });
    const isRequestLost = 'keepsLease' in worker && worker.keepsLease;
    const left = { ...lease, holder: isHolder ? ('dead' as const) : lease.holder };
    /** The attempt ends without a record. */
    const released = (keepsLease: boolean) => {
      if (!isHolder) return {};
      if (keepsLease && design.keepsLeaseOfLostRequest) return { lease: left };
      const pushed = design.forgetsFingerprintOfLostPush ? null : row.pushed;
      return { lease: givenBack, row: { ...row, pushed, isUnsure: row.isUnsure || design.distrustsLinesOfLostPush } };
    };
    const as = (kind: 'lease' | 'return' | 'links' | 'record' | 'forget'): OrderEvent => ({ kind, holder: name });
    const returned = (keepsLease: boolean) =>
      isHolder && !(keepsLease && design.keepsLeaseOfLostRequest) ? as('return') : undefined;
    /** The lease is lost: the order is looked at again, with the copy that is there. */
    const lost = (action: string, { version, upTo, isAlone, isRemoving, keepsLease }: Attempt) =>
      add(
        action,
        { ...become({ at: 'read', version, upTo, isAlone, isRemoving, isStale: true }), ...released(keepsLease) },
        returned(keepsLease),
      );
    /** As `isThere` in hidden-sub-orders.ts: what a sub-order holds that is not shown is what was last sent. */
    const ask = (posted: Attempt & { at: 'posted'; seen: Sub[]; absent: number[] }, link: Link) => {
      const { line, content, before } = link;
      const id = link.id as number;
      const operation: Operation = { kind: 'change', line, id, content, before };
      const about = `about sub-order ${id}`;
      const given = become({ ...posted, failed: [...posted.failed, line] });
      if (!service.subs.some((sub) => sub.id === id)) {
        const absent = become({ ...posted, absent: [...posted.absent, id] });
        add(`${name} asks ${about}, which is gone`, absent, { kind: 'request', operation, status: 'refused' });
        // An order that the service made again under another id has none of the sub-orders before.
        if (traced) add(`${name} does not ask ${about} of an earlier order`, absent);
        return;
      }
      const found = posted.isUnsure ? given : become({ ...posted, seen: [...posted.seen, { id, content }] });
      add(`${name} asks ${about}, which is there`, found, { kind: 'request', operation, status: 'done' });
      fault(`the service refuses to say ${about}`, given, { kind: 'request', operation, status: 'refused' });
    };
    const attemptOf = (attempt: Attempt): Attempt => {
      const { version, upTo, isAlone, isRemoving, isNew, wasPosted, removalsWanted } = attempt;
      const { links, unseen, checked, failed, isUnsure, keepsLease } = attempt;
      const run = { version, upTo, isAlone, isRemoving, isNew, wasPosted, removalsWanted };
      return { ...run, links, unseen, checked, failed, isUnsure, keepsLease };
    };
    /** Ends the attempt: what was pushed, the links and the lease in one transaction. */
    const recorded = (
      attempt: Attempt,
      {
        hasFailed,
        isRefused = false,
        isCheck = false,
        links = attempt.links,
      }: { hasFailed: boolean; isRefused?: boolean; isCheck?: boolean; links?: Link[] },
    ) => {
      const { workers } = ended(attempt);
      const copy = workers[otherName];
      const isChecked = (link: Link) =>
        isCheck && !attempt.failed.includes(link.line) && attempt.checked.some((one) => isSame(one, link));
      const unseen = attempt.unseen.filter((link) => !isChecked(link));
      const isStillUnsure = row.isUnsure && (isRefused || traced?.waits[attempt.version] === true);
      const mayHaveChanged = hasFailed && !isRefused;
      const isRetryDue = hasFailed || unseen.length > 0;
      // As record_orders.sql: without a response nothing is known of removals, and what is held back stays so.
      const removalsWanted = attempt.removalsWanted ?? (row.isHeld ? row.removalsWanted : 0);
      return {
        workers: copy.at === 'read' ? { ...workers, [otherName]: { ...copy, isStale: true } } : workers,
        row: {
          ...row,
          isKnown: true,
          isRecorded: true,
          pushed: fingerprintOf(attempt.version),
          isRetryDue: isRetryDue && design.failedOrderIsRetried,
          isUnsure: (mayHaveChanged || isStillUnsure) && design.distrustsLinesOfLostPush,
          removalsWanted,
          isHeld: removalsWanted > 0 && (row.isHeld || traced?.isEmptied[attempt.version] === true),
        },
        recorded: { last: attempt.version, newest: Math.max(attempt.version, state.recorded.newest) },
        links,
        unseen,
        lease: attempt.keepsLease && design.keepsLeaseOfLostRequest ? left : givenBack,
      };
    };

    if (worker.at !== 'idle') {
      // The process dies, or is cut off from everything: its lease and its requests remain.
      const air = state.air.map((one) => (one.by === name ? { ...one, by: 'gone' as const } : one));
      fault(`${name} dies`, { ...become({ at: 'idle' }), lease: left, air });
      const mayBeUnderWay = isRequestLost || state.air.some((one) => one.by === name);
      const stopped = { ...become({ at: 'idle' }), ...released(mayBeUnderWay), air };
      if (isHolder) fault(`${name} is stopped`, stopped, returned(mayBeUnderWay));
    }

    switch (worker.at) {
      case 'idle': {
        const isDue = row.isRetryDue || row.isInLookback || (row.removalsWanted > 0 && design.remembersRemovals);
        if (row.cursor >= state.dated && !isDue && !traced) return;
        const pushed = lease.holder === null || !design.forgetsFingerprintOfLostPush ? row.pushed : null;
        const copy = { version: state.shop, upTo: state.dated, isAlone: !isOtherBusy, isRemoving: false };
        const isDueYet = isUnchanged({ ...row, pushed }, copy);
        if (isDueYet || (traced && isUnchanged({ ...row, pushed, isRetryDue: false }, copy)))
          add(`${name} finds the order unchanged`, ended(copy));
        if (!isDueYet) add(`${name} reads the order`, become({ at: 'read', ...copy, isStale: false }));
        return;
      }
      case 'ending': {
        const { version, upTo, isAlone } = worker;
        const isPassedOver = isOtherBusy || !isAlone || upTo > version;
        const isInLookback = design.readsLookback && isPassedOver;
        const moved = { ...row, cursor: Math.max(row.cursor, upTo), isInLookback };
        const others = { [otherName]: isOtherBusy ? { ...other, isAlone: false } : other };
        const removing = { version: state.shop, upTo, isAlone, isRemoving: true, isStale: false };
        const then: Worker = row.removalsWanted > 0 ? { at: 'read', ...removing } : { at: 'idle' };
        const workers = { ...become(then).workers, ...others };
        const isMoved = moved.cursor > row.cursor;
        add(`${name} moves the cursor`, { row: moved, workers }, isMoved ? { kind: 'cursor' } : undefined);
        return;
      }
      case 'read': {
        const isFree = lease.holder === null || lease.isOver;
        if (!isFree) return;
        const held = { holder: name, isOver: false };
        const { version, upTo, isAlone, isRemoving } = worker;
        // A lease that ran out is that of a push that was not recorded.
        const isLost = lease.holder !== null;
        const pushed = isLost && design.forgetsFingerprintOfLostPush ? null : row.pushed;
        const isUnsure = row.isUnsure || (isLost && design.distrustsLinesOfLostPush);
        const known = { isUnsure, keepsLease: false, isNew: !row.isKnown, wasPosted: false, removalsWanted: null };
        const { links, unseen } = state;
        // What was not shown is looked for in one more push. A recording does not show which comes late enough.
        const checked = row.isRetryDue || traced ? unseen : [];
        const attempt: Attempt = { version, upTo, isAlone, isRemoving, links, unseen, checked, failed: [], ...known };
        const isKnown = row.isKnown || design.knowsOrderBeforePost;
        const take = (at: 'stale' | 'leased') =>
          add(
            `${name} takes the lease`,
            { ...become({ at, ...attempt }), lease: held, row: { ...row, isKnown, pushed, isUnsure } },
            as('lease'),
          );
        const isStale = worker.isStale && design.rereadsStaleCopy;
        const mayBeDeleted = !row.isRecorded && design.rereadsNewOrder;
        if (isStale || mayBeDeleted) take('stale');
        // A new order is read again only with ORDER_DELETES=send.
        if (!isStale && (!mayBeDeleted || traced)) take('leased');
        return;
      }
      case 'stale':
        add(
          `${name} reads the order again under its lease`,
          become({ ...attemptOf(worker), at: 'leased', version: state.shop }),
        );
        return;
      case 'leased': {
        const known = { ...row, isKnown: !worker.isNew };
        const isSame = isUnchanged(known, worker);
        const mayBeSame = isSame || (traced && isUnchanged({ ...known, isRetryDue: false }, worker));
        if (mayBeSame && isHolder && !worker.wasPosted) {
          const given = { ...ended(worker), lease: givenBack, row: known };
          add(`${name} finds the order pushed already`, given, as('return'));
          if (isSame) return;
        }
        const isDeleted = versionAt(worker.version) === 'deleted';
        if (isDeleted && row.isHeld && isHolder) {
          add(`${name} keeps the deletion held back`, { ...ended(worker), lease: givenBack, row: known }, as('return'));
          return;
        }
        if (isDeleted && !mayRemoveNow(worker, row, 1) && mayWrite) {
          const noted = recorded({ ...worker, removalsWanted: 1 }, { hasFailed: false });
          const forgotten = { ...noted.row, pushed: null, isUnsure: row.isUnsure };
          add(`${name} notes that the order is to be deleted`, { ...noted, row: forgotten }, as('record'));
          return;
        }
        if (!maySend) {
          lost(`${name} sees that its lease is over`, worker);
          return;
        }
        if (isDeleted) {
          const none = { hasOrder: false, subs: [], nextId: service.nextId };
          const isUncounted = state.isUncounted || row.removalsWanted < 1;
          const gone = { ...become({ ...worker, at: 'deleted' }), service: none, isUncounted };
          const sent = service.hasOrder ? { kind: 'delete order' as const } : undefined;
          add(`${name} deletes the order at the service`, gone, sent);
          return;
        }
        const posted = { ...attemptOf(worker), at: 'posted' as const, wasPosted: true, seen: service.subs, absent: [] };
        const isOutdated = state.isOutdated || worker.version < state.recorded.newest;
        const sent = { service: { ...service, hasOrder: true }, isOutdated };
        add(`${name} sends POST /v1/orders`, { ...become(posted), ...sent }, { kind: 'post' });
        for (const { id } of service.subs.filter((sub) => worker.links.some((link) => link.id === sub.id))) {
          const seen = service.subs.filter((sub) => sub.id !== id);
          fault(
            `the response to the POST of ${name} lacks sub-order ${id}`,
            { ...become({ ...posted, seen }), ...sent },
            { kind: 'post' },
          );
        }
        const unanswered = become({ ...worker, wasPosted: true });
        fault(`the response to the POST of ${name} is lost`, { ...unanswered, ...sent }, { kind: 'post' });
        if (!mayWrite) return;
        const refused = recorded(worker, { hasFailed: true, isRefused: true });
        fault(`the service refuses the POST of ${name}`, refused, as('record'));
        // Explored alone it finds nothing that a line which fails does not.
        if (traced)
          fault(`the service fails for the POST of ${name}`, recorded(worker, { hasFailed: true }), as('record'));
        return;
      }
      case 'posted': {
        if (!mayWrite) {
          lost(`${name} cannot write its links: the lease is lost`, worker);
          return;
        }
        const isKnown = ({ id }: Link) =>
          worker.absent.some((one) => one === id) || worker.seen.some((sub) => sub.id === id);
        const hidden = worker.links.find(
          (link) => link.id !== null && !isKnown(link) && !worker.failed.includes(link.line),
        );
        if (hidden && design.asksAboutHidden) {
          if (maySend) ask(worker, hidden);
          else lost(`${name} sees that its lease is over`, worker);
          return;
        }
        const { operations, links, unseen, gone, removalsWanted } = difference(worker, worker.seen, row);
        const now = [...worker.links.filter((link) => !gone.includes(link.line)), ...links];
        const all = now.filter((link, index) => now.findLastIndex((one) => one.line === link.line) === index);
        const applying: Worker = {
          ...attemptOf(worker),
          removalsWanted,
          links: sorted(all),
          unseen,
          at: 'applying',
          seen: worker.seen,
          todo: operations,
        };
        const removals = operations.filter((one) => one.kind === 'remove' && !one.isDuplicate).length;
        const saved = design.linksBeforeRequests
          ? { links: sorted(all), unseen }
          : { links: state.links, unseen: state.unseen };
        const renewed = isHolder ? { holder: name, isOver: false } : lease;
        const isSaved = isSame(saved, { links: state.links, unseen: state.unseen });
        add(
          `${name} writes its links`,
          {
            ...become(applying),
            ...saved,
            lease: renewed,
            isUncounted: state.isUncounted || removals > row.removalsWanted,
          },
          isSaved ? undefined : as('links'),
        );
        return;
      }
      case 'applying': {
        const [operation] = worker.todo;
        if (!operation) {
          const hasFailed = worker.failed.length > 0;
          const after = (isCheck: boolean) => recorded(worker, { hasFailed, isCheck });
          if (mayWrite) add(`${name} records the push`, after(!traced), as('record'));
          if (mayWrite && traced && worker.checked.length > 0)
            add(`${name} records the last check for duplicates`, after(true), as('record'));
          if (!mayWrite) lost(`${name} cannot record: the lease is lost`, worker);
          return;
        }
        if (!maySend) {
          lost(`${name} sees that its lease is over`, worker);
          return;
        }
        const air = [...state.air, { operation, by: name }];
        add(`${name} sends ${show(operation)}`, { ...become({ ...worker, at: 'waiting' }), air });
        return;
      }
      case 'waiting': {
        const [operation, ...todo] = worker.todo as [Operation, ...Operation[]];
        const request = state.air.find((one) => one.by === name);
        if (!request) {
          // A change or a removal is repeated by the client; the lease is checked before each request.
          if (maySend) add(`${name} repeats ${show(operation)}`, { air: [...state.air, { operation, by: name }] });
          else lost(`${name} sees that its lease is over`, worker);
          return;
        }
        const air = without(state.air, request);
        if (operation.kind === 'change' && !service.subs.some((sub) => sub.id === operation.id)) {
          const again = become({ ...attemptOf(worker), at: 'leased' });
          const observed = { kind: 'request', operation, status: 'refused' } as const;
          add(`the service does not have the sub-order of ${show(operation)}`, { ...again, air }, observed);
          return;
        }
        const done = carriedOut(service, operation);
        const links = sorted(linksAfter(worker.links, operation, done.id, worker.seen));
        const as = (status: 'done' | 'refused' | 'failed'): OrderEvent => ({ kind: 'request', operation, status });
        add(
          `the service carries out ${show(operation)} of ${name}`,
          { ...become({ ...worker, at: 'applying', links, todo }), service: done.service, air },
          as('done'),
        );
        if (operation.kind !== 'create') {
          fault(`the response to ${show(operation)} is lost`, { service: done.service, air }, as('done'));
          return;
        }
        const again: Worker = { ...attemptOf(worker), at: 'leased' };
        const refused = {
          failed: [...worker.failed, operation.line],
          links: worker.links.filter((link) => link.line !== operation.line),
        };
        fault(
          `${show(operation)} is refused for now`,
          { ...become({ ...worker, ...refused, at: 'applying', todo }), air },
          as('refused'),
        );
        fault(`the response to ${show(operation)} is lost`, become({ ...worker, at: 'looking' }));
        fault(`500 for ${show(operation)}, which is not carried out`, { ...become(again), air }, as('failed'));
        const carried = { ...become(again), air, service: done.service };
        fault(`500 for ${show(operation)}, which is carried out`, carried, as('done'));
        return;
      }
      case 'looking': {
        const [operation, ...todo] = worker.todo as [Operation, ...Operation[]];
        const again: Worker = { ...attemptOf(worker), at: 'leased' };
        const isInTheAir = state.air.some((one) => one.by === name);
        if (!design.looksForLostCreate) {
          const air = state.air.map((one) => (one.by === name ? { ...one, by: 'gone' as const } : one));
          add(`${name} sends again what was lost`, { ...become(again), air });
        } else if (isShown(worker, operation.line, service.subs)) {
          if (!isInTheAir) add(`${name} sees its sub-order`, become(again));
        } else if (!isInTheAir) {
          const failed = [...worker.failed, operation.line];
          const givenUp = { ...worker, todo, failed, keepsLease: true };
          add(`${name} gives the line up for this run`, become({ ...givenUp, at: 'applying' }));
        }
        return;
      }
      case 'deleted': {
        if (!mayWrite) {
          lost(`${name} cannot forget the order: the lease is lost`, worker);
          return;
        }
        const { row: after, ...rest } = recorded({ ...worker, removalsWanted: 0 }, { hasFailed: false, links: [] });
        const forgotten = { ...after, isKnown: false, isRecorded: false, pushed: null, isRetryDue: false };
        // Nothing is left that shows another worker that its copy is stale.
        const { workers } = ended(worker);
        const others = other.at === 'read' ? { [otherName]: { ...other, isStale: false } } : {};
        add(`${name} forgets the order`, { ...rest, workers: { ...workers, ...others }, row: forgotten }, as('forget'));
        return;
      }
      default:
        worker satisfies never;
    }
  }

  /** As `isShown` in apply-sub-orders.ts. */
  function isShown({ version, links, unseen }: Attempt, line: string, subs: readonly Sub[]): boolean {
    const [theirs, lines, known] = [subs.map(subOrderOf), linesOf(versionAt(version)), links.map(lineLinkOf)];
    const matches = matchSubOrders(theirs, lines, known, new Set(), unseen.map(lineLinkOf));
    return matches.ofLines.get(line)?.kind === 'linked';
  }

  function leaseSteps({ lease, air, workers }: OrderState, add: Add, fault: Add): void {
    if (lease.holder === null) return;
    if (lease.isOver) {
      if (lease.holder !== 'dead') add(`${lease.holder} renews its lease`, { lease: { ...lease, isOver: false } });
      return;
    }
    if (!design.leasesRunOut) return;
    const holder = lease.holder;
    const isOutlasted = air.some((one) => one.by === holder || one.by === 'gone');
    if (design.leaseOutlastsRequests && isOutlasted) return;
    const over = { lease: { ...lease, isOver: true } };
    if (holder === 'dead') add('the lease of a dead worker runs out', over);
    else if (workers[holder].at !== 'idle') fault(`${holder} is frozen, or cut off, until its lease has run out`, over);
  }

  /** Of each content at the service never more than any version of the shop has lines of it. */
  function isNeverTwice({ service }: OrderState): boolean {
    const contents = new Set(service.subs.map((sub) => sub.content));
    return [...contents].every((content) => {
      const most = Math.max(
        ...scenario.versions.map(
          (version) => Object.values(version === 'deleted' ? {} : version).filter((one) => one === content).length,
        ),
      );
      const shown = service.subs.filter((sub) => sub.content === content).length;
      return shown <= Math.max(most, initial.service.subs.filter((sub) => sub.content === content).length);
    });
  }

  /** Nothing is going on, and the service has what the shop has. */
  function isInLine(state: OrderState): boolean {
    const { shop, service, air, row, workers } = state;
    if (workers.A.at !== 'idle' || workers.B.at !== 'idle' || air.length > 0) return false;
    if (row.cursor < shop || row.isRetryDue || state.dated > shop) return false;
    const version = versionAt(shop);
    if (version === 'deleted') return !service.hasOrder;
    const shown = service.subs.map((sub) => sub.content).sort();
    return service.hasOrder && shown.join() === Object.values(version).sort().join();
  }

  return {
    initial,
    next,
    key,
    invariants: {
      'no line has a second sub-order': isNeverTwice,
      'an older version is never recorded over a newer one': ({ recorded }) => recorded.last === recorded.newest,
      'nothing is removed that the run has not counted': ({ isUncounted }) => !isUncounted,
      'no request carries an older version than one that was recorded': ({ isOutdated }) => !isOutdated,
    },
    goal: { name: 'the service gets what the shop has', isReached: isInLine },
    probes: {
      'two workers hold copies of one order': ({ workers }) => workers.A.at !== 'idle' && workers.B.at !== 'idle',
      'a worker goes on although another has taken its lease': ({ workers, lease }) =>
        (workers.A.at === 'applying' && lease.holder === 'B') || (workers.B.at === 'applying' && lease.holder === 'A'),
      'a create is in the air and its worker is gone': ({ air }) =>
        air.some((one) => one.by === 'gone' && one.operation.kind === 'create'),
      'a sub-order exists and only a pending link knows of it': ({ links, service }) =>
        links.some(
          (link) =>
            link.id === null &&
            service.subs.some((sub) => !link.before?.includes(sub.id) && sub.content === link.content),
        ),
      'a linked sub-order is not shown': ({ workers, service }) =>
        Object.values(workers).some(
          (one) =>
            one.at === 'posted' &&
            one.links.some(
              ({ id }) => service.subs.some((sub) => sub.id === id) && !one.seen.some((sub) => sub.id === id),
            ),
        ),
      'a line was given up for this run': ({ row, links }) => row.isRetryDue && links.some((link) => link.id === null),
      'the creation of a line was perhaps sent twice': ({ unseen }) => unseen.length > 0,
      'a removal is noted and its run is gone': ({ row, workers }) =>
        row.removalsWanted > 0 && workers.A.at === 'idle' && workers.B.at === 'idle',
      'the cursor has passed a change that is not committed': ({ row, shop }) => row.cursor > shop,
      'a copy is read again that is older than the deletion of the order': ({ workers, recorded }) =>
        Object.values(workers).some((one) => one.at === 'stale' && one.isNew && recorded.newest > one.version),
      'a copy is older than what was pushed since': ({ workers, recorded }) =>
        Object.values(workers).some((one) => one.at === 'read' && recorded.newest > one.version),
    },
  };
}

function carriedOut(
  service: OrderState['service'],
  operation: Operation,
): { service: OrderState['service']; id: number } {
  const { subs, nextId, hasOrder } = service;
  switch (operation.kind) {
    case 'create': {
      if (!hasOrder) return { service, id: 0 };
      const created = [...subs, { id: nextId, content: operation.content }];
      return { service: { hasOrder, subs: created, nextId: nextId + 1 }, id: nextId };
    }
    case 'change': {
      const changed = subs.map((sub) => (sub.id === operation.id ? { ...sub, content: operation.content } : sub));
      return { service: { ...service, subs: changed }, id: operation.id };
    }
    case 'remove':
      return { service: { ...service, subs: subs.filter((sub) => sub.id !== operation.id) }, id: operation.id };
    default:
      return operation satisfies never;
  }
}

/** What a worker remembers once the response is there. */
function linksAfter(links: readonly Link[], operation: Operation, id: number, seen: readonly Sub[]): Link[] {
  const others = links.filter((link) => link.line !== operation.line);
  const { line } = operation;
  switch (operation.kind) {
    case 'create': {
      return [...others, { line, id, content: operation.content, before: seen.map((sub) => sub.id) }];
    }
    case 'change': {
      const { content, before } = operation;
      return [...others, { line, id, content, before }];
    }
    case 'remove':
      return operation.isDuplicate ? [...links] : others;
    default:
      return operation satisfies never;
  }
}

const sorted = (links: Link[]): Link[] => links.sort((a, b) => (a.line < b.line ? -1 : 1));
const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
const without = <T>(all: readonly T[], one: T | undefined): T[] => all.filter((other) => other !== one);
const show = (operation: Operation): string =>
  operation.kind === 'remove'
    ? `DELETE of line ${operation.line}`
    : `${operation.kind === 'create' ? 'POST' : 'PUT'} of line ${operation.line} (${operation.content})`;

/** The two workers are alike: swapped, it is the same state. */
function key(state: OrderState): string {
  const of = (name: WorkerName) =>
    JSON.stringify([state.workers[name], state.lease.holder === name, state.air.some((one) => one.by === name)]);
  const air = state.air.map((one) => JSON.stringify([one.operation, one.by === 'gone'])).sort();
  const lease = [state.lease.holder === null, state.lease.holder === 'dead', state.lease.isOver];
  const { shop, dated, service, row, recorded, links, unseen, isUncounted, isOutdated, faultsLeft } = state;
  return JSON.stringify([
    shop,
    dated,
    isUncounted,
    isOutdated,
    service,
    row,
    recorded,
    links,
    unseen,
    faultsLeft,
    lease,
    air,
    ...[of('A'), of('B')].sort(),
  ]);
}
