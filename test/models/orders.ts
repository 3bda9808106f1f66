/**
 * The protocol "one line, never twice": how one order of the shop gets to the service, as src/orders/push-order.ts does
 * it. Matching is not modelled: the model calls the real `diffSubOrders`.
 *
 * The world: the shop's versions of one order, the service, requests in the air, the warehouse's rows about the order,
 * and two workers. A worker does this, one step an action:
 *
 *     idle ─ read ─▶ read ─ lease ─▶ leased ─ POST ─▶ posted ─ save links ─▶ applying ─ send ─▶ waiting ─ response ─▶ applying
 *                                      ▲                                        │                  │ lost
 *                                      └──────────── shown: look again ─────────┼──── looking ◀────┘
 *                                                                     record ─▶ idle
 *
 * What the model assumes, because the code cannot enforce it:
 *
 * - A request ends at the service before the lease runs out under which it was sent (`leaseOutlastsRequests`), and one
 *   whose response was lost ends while its worker looks (15 s). Where it takes longer, the code keeps the lease until it
 *   runs out, and looks for a double an hour later. PUT and DELETE end before their worker goes on.
 * - Checking the lease and sending the request is one step, and the clock of a frozen process goes on.
 * - A push takes no longer than the lookback: what the cursor passed while another worker was busy is read once more.
 */
import { diffSubOrders, type Line, type LineLink } from '../../src/orders/diff-sub-orders.ts';
import { matchSubOrders } from '../../src/orders/match-sub-orders.ts';
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
  /** A copy of the order is read again if the order was pushed since. */
  rereadsStaleCopy: true,
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
};
export type OrderDesign = typeof orderDesign;

/** Lines by code; the letter stands for the options of the one product. */
export type Version = Readonly<Record<string, Letter>> | 'deleted';
type Letter = 'S' | 'M';

export type OrderScenario = {
  /** The shop's versions of the order, in the order in which they follow each other. */
  versions: readonly Version[];
  /** Sub-orders that another integration has created. */
  unmanaged?: readonly Letter[];
  faults: number;
};

type WorkerName = 'A' | 'B';
type Sub = { id: number; content: Letter };
/** `wasSentAgain`: its creation was perhaps sent twice. */
type Link = {
  line: string;
  id: number | null;
  content: Letter;
  before: number[] | null;
  wasSentAgain: boolean;
};
type Operation =
  | { kind: 'change'; line: string; id: number; content: Letter; before: number[] | null; wasSentAgain: boolean }
  | { kind: 'remove'; line: string; id: number; isDouble: boolean }
  | { kind: 'create'; line: string; content: Letter };

/** One try to push the order. `upTo`: where the cursor goes once it has ended. `isAlone`: it began while the other worker was idle. */
type Attempt = {
  version: number;
  upTo: number;
  isAlone: boolean;
  links: Link[];
  failed: string[];
  /** The push before was not recorded. */
  isUnsure: boolean;
  /** A request whose outcome is unknown may still be carried out. */
  keepsLease: boolean;
};
type Worker =
  | { at: 'idle' }
  | { at: 'read'; version: number; upTo: number; isAlone: boolean; isStale: boolean }
  | (Attempt & { at: 'leased' })
  | (Attempt & { at: 'posted'; seen: Sub[] })
  | (Attempt & { at: 'applying' | 'waiting'; seen: Sub[]; todo: Operation[] })
  | (Attempt & { at: 'looking'; seen: Sub[]; todo: Operation[] })
  | (Attempt & { at: 'deleted' });

export type OrderState = {
  /** The shop's version now. */
  shop: number;
  service: { hasOrder: boolean; subs: Sub[]; nextId: number };
  /** Requests that the service may still carry out. `by`: who sent it; `gone`: nobody waits for the response. */
  air: { operation: Operation; by: WorkerName | 'gone' }[];
  /**
   * sync.order_links and sync.cursors: what was last pushed, whether it failed, up to where changes were read, and whether
   * another worker was busy then, so that the lookback makes the next run read the order again.
   */
  row: {
    isKnown: boolean;
    pushed: Version | null;
    isUnsure: boolean;
    isRetryDue: boolean;
    cursor: number;
    isInLookback: boolean;
  };
  /** The version that was recorded last, and the newest one that ever was. For the invariant only. */
  recorded: { last: number; newest: number };
  /** sync.sub_order_links. */
  links: Link[];
  lease: { holder: WorkerName | 'dead' | null; isOver: boolean };
  workers: { A: Worker; B: Worker };
  faultsLeft: number;
};

const contentOf = (letter: Letter) => ({ product_id: 1, price: '10', product_options: { size: letter } });
const letterOf = (content: { product_options: Readonly<Record<string, string>> }) =>
  content.product_options.size as Letter;
const subOrderOf = ({ id, content }: Sub) =>
  ({
    id,
    product_id: 1,
    price: { cents: 1000 },
    product_options: { size: content },
    reviews_count: 0,
  }) as unknown as SubOrder;
const lineLinkOf = ({ line, id, content, before, wasSentAgain }: Link): LineLink => ({
  lineCode: line,
  subOrderId: id,
  content: contentOf(content),
  idsBefore: before,
  wasSentAgain,
});
const linesOf = (version: Version): Line[] =>
  Object.entries(version === 'deleted' ? {} : version).map(([lineCode, letter]) => ({
    lineCode,
    content: contentOf(letter),
  }));

export function orderModel(scenario: OrderScenario, changed: Partial<OrderDesign> = {}): Model<OrderState> {
  const design: OrderDesign = { ...orderDesign, ...changed };
  const versionAt = (index: number) => scenario.versions[index] as Version;
  const unmanaged = (scenario.unmanaged ?? []).map((content, index) => ({ id: index + 1, content }));

  const initial: OrderState = {
    shop: 0,
    service: { hasOrder: unmanaged.length > 0, subs: unmanaged, nextId: unmanaged.length + 1 },
    air: [],
    row: { isKnown: false, pushed: null, isUnsure: false, isRetryDue: false, cursor: -1, isInLookback: false },
    recorded: { last: -1, newest: -1 },
    links: [],
    lease: { holder: null, isOver: false },
    workers: { A: { at: 'idle' }, B: { at: 'idle' } },
    faultsLeft: scenario.faults,
  };

  /** The real difference between what a worker has seen at the service and what it wants there. */
  function difference({ version, links, failed, isUnsure }: Attempt, seen: readonly Sub[]) {
    const blank = <T extends { content: object }>(one: T): T => ({ ...one, content: contentOf('S') });
    const isBlank = !design.matchesByContent;
    const lines = linesOf(versionAt(version)).filter((line) => !failed.includes(line.lineCode));
    const known = links.map(lineLinkOf);
    const theirs = seen.map((sub) => subOrderOf(isBlank ? { ...sub, content: 'S' } : sub));
    const diff = diffSubOrders(
      theirs,
      isBlank ? lines.map(blank) : lines,
      isBlank ? known.map(blank) : known,
      new Set(failed),
      { areLinesUnsure: isUnsure },
    );
    const wanted = new Map(lines.map((line) => [line.lineCode, letterOf(line.content)]));
    const letter = (line: string, content: Letter) => (isBlank ? (wanted.get(line) ?? content) : content);
    const toLink = (link: LineLink): Link => ({
      line: link.lineCode,
      id: link.subOrderId,
      content: letter(link.lineCode, letterOf(link.content)),
      before: link.idsBefore && [...link.idsBefore],
      wasSentAgain: link.wasSentAgain,
    });
    const removal = (one: { lineCode: string; subOrderId: number }, { isDouble }: { isDouble: boolean }) =>
      ({ kind: 'remove', line: one.lineCode, id: one.subOrderId, isDouble }) as const;
    const operations: Operation[] = [
      ...diff.change.map((one) => {
        const content = letter(one.lineCode, letterOf(one.content));
        return {
          kind: 'change' as const,
          line: one.lineCode,
          id: one.subOrderId,
          content,
          before: one.idsBefore && [...one.idsBefore],
          wasSentAgain: one.wasSentAgain,
        };
      }),
      ...diff.remove.map((one) => removal(one, { isDouble: false })),
      ...diff.removeDoubles.map((one) => removal(one, { isDouble: true })),
      ...diff.create.map((one) => ({
        kind: 'create' as const,
        line: one.lineCode,
        content: letter(one.lineCode, letterOf(one.content)),
      })),
    ];
    return { operations, links: diff.links.map(toLink), gone: diff.dropLinks };
  }

  function next(state: OrderState): Step<OrderState>[] {
    const steps: Step<OrderState>[] = [];
    const add = (action: string, change: Partial<OrderState>) => steps.push({ action, state: { ...state, ...change } });
    const fault = (action: string, change: Partial<OrderState>) => {
      if (state.faultsLeft === 0) return;
      steps.push({ action, state: { ...state, ...change, faultsLeft: state.faultsLeft - 1 }, isFault: true });
    };
    if (state.shop + 1 < scenario.versions.length)
      steps.push({ action: 'the shop changes the order', state: { ...state, shop: state.shop + 1 }, isFault: true });
    for (const name of ['A', 'B'] as const) workerSteps(state, name, add, fault);
    leaseSteps(state, add, fault);
    for (const request of state.air) {
      if (request.by !== 'gone' && state.workers[request.by].at === 'waiting') continue;
      const air = without(state.air, request);
      add(`the service carries out ${show(request.operation)}, late`, {
        air,
        service: carriedOut(state.service, request.operation).service,
      });
      add(`${show(request.operation)} never reaches the service`, { air });
    }
    return steps;
  }

  /** Costs no request: it stands at the service as it is in the shop, or is deleted and was never there. */
  function isUnchanged({ pushed, isRetryDue, isKnown }: OrderState['row'], version: number): boolean {
    const wanted = versionAt(version);
    if (wanted === 'deleted') return !isKnown;
    return pushed !== null && !isRetryDue && JSON.stringify(pushed) === JSON.stringify(wanted);
  }

  type Add = (action: string, change: Partial<OrderState>) => void;

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
    /** The run ends, and moves the cursor. */
    const concluded = ({ upTo, isAlone }: { upTo: number; isAlone: boolean }) => ({
      row: {
        ...row,
        cursor: Math.max(row.cursor, upTo),
        isInLookback: isOtherBusy || (row.isInLookback && !isAlone),
      },
      workers: { ...become({ at: 'idle' }).workers, [otherName]: isOtherBusy ? { ...other, isAlone: false } : other },
    });
    const isRequestLost = 'keepsLease' in worker && worker.keepsLease;
    const left = { ...lease, holder: isHolder ? ('dead' as const) : lease.holder };
    /** The attempt ends without a record. */
    const released = (keepsLease: boolean) => {
      if (!isHolder) return {};
      if (keepsLease && design.keepsLeaseOfLostRequest) return { lease: left };
      const pushed = design.forgetsFingerprintOfLostPush ? null : row.pushed;
      return { lease: givenBack, row: { ...row, pushed, isUnsure: row.isUnsure || design.distrustsLinesOfLostPush } };
    };
    /** The lease is lost: the order is looked at again, with the copy that is there. */
    const lost = ({ version, upTo, isAlone, keepsLease }: Attempt) => ({
      ...become({ at: 'read', version, upTo, isAlone, isStale: true }),
      ...released(keepsLease),
    });
    const attemptOf = ({ version, upTo, isAlone, links, failed, isUnsure, keepsLease }: Attempt): Attempt => ({
      version,
      upTo,
      isAlone,
      links,
      failed,
      isUnsure,
      keepsLease,
    });
    /** Ends the attempt: what was pushed, the links, the cursor and the lease in one transaction. */
    const recorded = (
      attempt: Attempt,
      { pushed, links = attempt.links }: { pushed: Version | null; links?: Link[] },
    ) => {
      const { row: moved, workers } = concluded(attempt);
      const copy = workers[otherName];
      // A line that was sent twice is looked at in one more push.
      const wasLookedAt = ({ line }: Link) =>
        row.isRetryDue && state.links.some((one) => one.line === line && one.wasSentAgain && one.id !== null);
      const recordedLinks = links.map((link) => (wasLookedAt(link) ? { ...link, wasSentAgain: false } : link));
      const isRetryDue = pushed === null || recordedLinks.some((link) => link.wasSentAgain);
      return {
        workers: copy.at === 'read' ? { ...workers, [otherName]: { ...copy, isStale: true } } : workers,
        row: {
          ...moved,
          isKnown: true,
          pushed,
          isRetryDue: isRetryDue && design.failedOrderIsRetried,
          isUnsure: pushed === null && design.distrustsLinesOfLostPush,
        },
        recorded: { last: attempt.version, newest: Math.max(attempt.version, state.recorded.newest) },
        links: recordedLinks,
        lease: attempt.keepsLease && design.keepsLeaseOfLostRequest ? left : givenBack,
      };
    };

    if (worker.at !== 'idle') {
      // The process dies, or is cut off from everything: its lease and its requests remain.
      const air = state.air.map((one) => (one.by === name ? { ...one, by: 'gone' as const } : one));
      fault(`${name} dies`, { ...become({ at: 'idle' }), lease: left, air });
      const mayBeUnderWay = isRequestLost || state.air.some((one) => one.by === name);
      if (isHolder) fault(`${name} is stopped`, { ...become({ at: 'idle' }), ...released(mayBeUnderWay), air });
    }

    switch (worker.at) {
      case 'idle': {
        if (row.cursor >= state.shop && !row.isRetryDue && !row.isInLookback) return;
        const pushed = lease.holder === null || !design.forgetsFingerprintOfLostPush ? row.pushed : null;
        if (isUnchanged({ ...row, pushed }, state.shop)) {
          add(`${name} finds the order unchanged`, concluded({ upTo: state.shop, isAlone: !isOtherBusy }));
          return;
        }
        const copy = { version: state.shop, upTo: state.shop, isAlone: !isOtherBusy };
        add(`${name} reads the order`, become({ at: 'read', ...copy, isStale: false }));
        return;
      }
      case 'read': {
        const isFree = lease.holder === null || lease.isOver;
        if (!isFree) return;
        const version = worker.isStale && design.rereadsStaleCopy ? state.shop : worker.version;
        const held = { holder: name, isOver: false };
        const { upTo, isAlone } = worker;
        // A lease that ran out is that of a push that was not recorded.
        const isLost = lease.holder !== null;
        const pushed = isLost && design.forgetsFingerprintOfLostPush ? null : row.pushed;
        const isUnsure = row.isUnsure || (isLost && design.distrustsLinesOfLostPush);
        const known = { isUnsure, keepsLease: false };
        const attempt: Attempt = { version, upTo, isAlone, links: state.links, failed: [], ...known };
        if (isUnchanged({ ...row, pushed }, version)) {
          add(`${name} finds the order pushed already`, concluded(worker));
          return;
        }
        const isKnown = row.isKnown || design.knowsOrderBeforePost;
        add(`${name} takes the lease`, {
          ...become({ at: 'leased', ...attempt }),
          lease: held,
          row: { ...row, isKnown, pushed, isUnsure },
        });
        return;
      }
      case 'leased': {
        if (!maySend) {
          add(`${name} sees that its lease is over`, lost(worker));
          return;
        }
        if (versionAt(worker.version) === 'deleted') {
          const none = { hasOrder: false, subs: [], nextId: service.nextId };
          add(`${name} deletes the order at the service`, { ...become({ ...worker, at: 'deleted' }), service: none });
          return;
        }
        const posted: Worker = { ...attemptOf(worker), at: 'posted', seen: service.subs };
        add(`${name} sends POST /v1/orders`, { ...become(posted), service: { ...service, hasOrder: true } });
        if (mayWrite) fault(`the service fails for the POST of ${name}`, recorded(worker, { pushed: null }));
        return;
      }
      case 'posted': {
        if (!mayWrite) {
          add(`${name} cannot write its links: the lease is lost`, lost(worker));
          return;
        }
        const { operations, links, gone } = difference(worker, worker.seen);
        const now = [...worker.links.filter((link) => !gone.includes(link.line)), ...links];
        const all = now.filter((link, index) => now.findLastIndex((one) => one.line === link.line) === index);
        const applying: Worker = {
          ...attemptOf(worker),
          links: sorted(all),
          at: 'applying',
          seen: worker.seen,
          todo: operations,
        };
        const saved = design.linksBeforeRequests ? applying.links : state.links;
        const renewed = isHolder ? { holder: name, isOver: false } : lease;
        add(`${name} writes its links`, { ...become(applying), links: saved, lease: renewed });
        return;
      }
      case 'applying': {
        const [operation] = worker.todo;
        if (!operation) {
          if (!mayWrite) {
            add(`${name} cannot record: the lease is lost`, lost(worker));
            return;
          }
          add(
            `${name} records the push`,
            recorded(worker, { pushed: worker.failed.length > 0 ? null : versionAt(worker.version) }),
          );
          return;
        }
        if (!maySend) {
          add(`${name} sees that its lease is over`, lost(worker));
          return;
        }
        const air = [...state.air, { operation, by: name }];
        add(`${name} sends ${show(operation)}`, { ...become({ ...worker, at: 'waiting' }), air });
        return;
      }
      case 'waiting': {
        const [operation, ...todo] = worker.todo as [Operation, ...Operation[]];
        const request = state.air.find((one) => one.by === name);
        const air = without(state.air, request);
        const done = carriedOut(service, operation);
        const links = sorted(linksAfter(worker.links, operation, done.id, worker.seen));
        add(`the service carries out ${show(operation)} of ${name}`, {
          ...become({ ...worker, at: 'applying', links, todo }),
          service: done.service,
          air,
        });
        if (operation.kind !== 'create') return;
        const again: Worker = { ...attemptOf(worker), at: 'leased' };
        const refused = {
          failed: [...worker.failed, operation.line],
          links: worker.links.filter((link) => link.line !== operation.line),
        };
        fault(`${show(operation)} is refused for now`, {
          ...become({ ...worker, ...refused, at: 'applying', todo }),
          air,
        });
        fault(`the response to ${show(operation)} is lost`, become({ ...worker, at: 'looking' }));
        fault(`500 for ${show(operation)}, which is not carried out`, { ...become(again), air });
        fault(`500 for ${show(operation)}, which is carried out`, { ...become(again), air, service: done.service });
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
          add(`${name} cannot forget the order: the lease is lost`, lost(worker));
          return;
        }
        const { row: after, ...rest } = recorded(worker, { pushed: null, links: [] });
        add(`${name} forgets the order`, {
          ...rest,
          row: { ...after, isKnown: false, pushed: null, isRetryDue: false },
        });
        return;
      }
      default:
        worker satisfies never;
    }
  }

  /** As `isShown` in apply-sub-orders.ts. */
  function isShown({ version, links }: Attempt, line: string, subs: readonly Sub[]): boolean {
    const matches = matchSubOrders(subs.map(subOrderOf), linesOf(versionAt(version)), links.map(lineLinkOf), new Set());
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
    return (['S', 'M'] as const).every((letter) => {
      const most = Math.max(
        ...scenario.versions.map(
          (version) => Object.values(version === 'deleted' ? {} : version).filter((one) => one === letter).length,
        ),
      );
      const shown = service.subs.filter((sub) => sub.content === letter).length;
      return shown <= Math.max(most, unmanaged.filter((sub) => sub.content === letter).length);
    });
  }

  /** Nothing is going on, and the service has what the shop has. */
  function isInLine({ shop, service, air, row, lease, workers }: OrderState): boolean {
    if (workers.A.at !== 'idle' || workers.B.at !== 'idle' || air.length > 0 || lease.holder !== null) return false;
    if (row.cursor < shop || row.isRetryDue) return false;
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
      'a line was given up for this run': ({ row, links }) => row.isRetryDue && links.some((link) => link.id === null),
      'the creation of a line was perhaps sent twice': ({ links }) => links.some((link) => link.wasSentAgain),
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
      const wasSentAgain = links.find((link) => link.line === line)?.wasSentAgain ?? false;
      return [...others, { line, id, content: operation.content, before: seen.map((sub) => sub.id), wasSentAgain }];
    }
    case 'change': {
      const { content, before, wasSentAgain } = operation;
      return [...others, { line, id, content, before, wasSentAgain }];
    }
    case 'remove':
      return operation.isDouble ? [...links] : others;
    default:
      return operation satisfies never;
  }
}

const sorted = (links: Link[]): Link[] => links.sort((a, b) => (a.line < b.line ? -1 : 1));
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
  const { shop, service, row, recorded, links, faultsLeft } = state;
  return JSON.stringify([shop, service, row, recorded, links, faultsLeft, lease, air, ...[of('A'), of('B')].sort()]);
}
