/**
 * The protocol "each line once": how one order of the shop gets to the service, as src/orders/push/push-order.ts does
 * it. What is sent is decided by the real `compareOrder`, and contact by the real rule.
 *
 * The world: the shop's versions of one order, the service, requests in the air, the warehouse's row and links of the
 * order, and two workers. A worker does this, one step an action; in each step it may die, be stopped, or be frozen
 * until its lease has run out:
 *
 *     idle ─ read ─▶ read ─ lease ─▶ leased ─ POST ─▶ posted ─ save links ─▶ sending ─ send ─▶ waiting ─ response ─▶ sending
 *                     ▲                ▲ │ deleted                             │ │                                    │
 *                     └─ lease lost ───┼─┴─▶ deleting ─ DELETE ─▶ forgetting   │ └─ record, move the cursor ─▶ idle   │
 *                                      └────────── an outcome is not known ────┘◀─────────────────────────────────────┘
 *
 * What the model assumes, because the code cannot enforce it:
 *
 * - Checking the lease and sending the request is one step, and the clock of a frozen process goes on.
 * - Of requests without a response only creations may be carried out later: within the hour, and before the shop
 *   changes the order. What appears later is named by `verify orders`.
 * - A response that does not show a sub-order lacks that of a line which the shop still has.
 * - A push takes no longer than the lookback: what the cursor passed while another worker was busy is read once more.
 * - No review is written between the response that shows a sub-order and the removal of that sub-order.
 */
import { firstDecision, mayCarryContact } from '../../src/orders/contact-rule.ts';
import type { DesiredOrder } from '../../src/orders/plan/desired-order.ts';
import { compareOrder } from '../../src/orders/plan/order-difference.ts';
import { asShown, memoryOf } from '../../src/orders/plan/order-memory.ts';
import type { LineLink } from '../../src/orders/plan/sub-orders.ts';
import type { OrderDetail } from '../../src/review-api/index.ts';
import { usualRights } from '../harness/sync-orders.ts';
import type { Model, Step } from './check.ts';

/** What keeps the promises. Each can be taken away, and then the checker finds a broken one. */
export const orderDesign = {
  /** Every statement that writes about an order checks the lease. */
  writesAreFenced: true,
  /** The lease is checked right before each request that writes. */
  sendsOnlyUnderLease: true,
  leaseOutlastsRequests: true,
  leasesRunOut: true,
  /** An order whose push was not recorded is due, whatever command began it. */
  leaseMakesDue: true,
  /** A push that failed in part makes its order due. */
  failureMakesDue: true,
  /** After a push that was not recorded, what was pushed before it counts no more. */
  forgetsFingerprintOfLostPush: true,
  /** Which sub-orders are about to be created, and which are taken over, is written before the requests. */
  linksBeforeRequests: true,
  /** A creation without a response is looked for before it is sent again. */
  looksForLostCreate: true,
  /** A creation that was sent twice is looked at once more an hour later. */
  looksAgainAfterHour: true,
  /** So is one whose sub-order was found: another request for it may have been sent. */
  looksAgainForFound: true,
  /** The look counts only if the push has succeeded. */
  looksAgainAfterFailure: true,
  /** A creation that is refused says nothing about one that was sent before it. */
  refusalIsOfOneRequest: true,
  /** Sub-orders are distinguished by options and price, not by their product alone. */
  matchesByContent: true,
  /** A copy of the order is read again if the order was pushed since. */
  rereadsStaleCopy: true,
  /** It is also read again if another push of the order broke off: nobody knows which version that one sent. */
  rereadsAfterLostPush: true,
  /**
   * An order of which nothing is remembered is read again under the lease: another process may have deleted it since.
   */
  rereadsNewOrder: true,
  /** A run reads from before its cursor. */
  readsLookback: true,
  /** Whether requests may carry contact is written down with the first lease, not with the first record. */
  contactDecidedWithLease: true,
  /** The age of the order is judged at each request. */
  judgesAgeAtRequest: true,
  /** Each removal is taken from the day's allowance. */
  removalsFromAllowance: true,
  keepsEmptiedOrder: true,
  sparesReviews: true,
  sparesForeign: true,
};
export type OrderDesign = typeof orderDesign;

/** A size of product 1: `S` for 10, `M` for 12. */
type Content = 'S' | 'M';
/** Lines by code; of a deleted order those that it had. */
type Version = Readonly<{ lines: Readonly<Record<string, Content>>; isDeleted?: true }>;
/** `allowing`: with `--allow-removals`, and as often as it likes. */
type Kind = 'sync' | 'backfill' | 'allowing';

export type OrderScenario = {
  /** The shop's versions of the order, in the order in which they follow each other. */
  versions: readonly Version[];
  /** The second worker; the first one is a sync. */
  other?: Kind;
  /** Sub-orders that another integration has created. */
  foreign?: readonly Content[];
  mayGrowOld?: true;
  /** A customer may review a sub-order. */
  mayBeReviewed?: true;
  /** The cursor has passed the order: a sync reads it only if it is due. */
  isPassed?: true;
  /** Removals a day. */
  allowance?: number;
  faultsAtMost: number;
};

type Name = 'A' | 'B';
type Sub = { id: number; content: Content; isForeign: boolean; hasReviews: boolean };
/** `before` and `id` as in LineLink. `isHourOld`: the creation was written down an hour ago. */
type Link = Pick<LineLink, 'isOurs'> & {
  line: string;
  id: number | null;
  content: Content;
  before: readonly number[] | null;
  isHourOld: boolean;
};
type Operation = { line: string } & (
  | { kind: 'change'; id: number; content: Content }
  | { kind: 'remove'; id: number }
  | { kind: 'create'; content: Content; isSentAgain: boolean; version: number }
);
/** What a run reads. `isStale`: the order was pushed since. `isAlone`: the other worker was idle. */
type Copy = { version: number; isStale: boolean; isAlone: boolean; wasYoung: boolean };
/** One try to push the order. `held`: removals that the allowance does not cover. */
type Attempt = Copy & { isNew: boolean; orderId: number | null; links: Link[]; held: number } & {
  failed: string[];
  unknown: string[];
  round: number;
  seen: Sub[];
  todo: Operation[];
};
type Pushing = 'stale' | 'leased' | 'posted' | 'sending' | 'waiting' | 'deleting' | 'forgetting';
type Worker = { at: 'idle' } | (Copy & { at: 'read' }) | (Attempt & { at: Pushing });
type Row = {
  /** The fingerprint of a version. */
  pushed: string | null;
  orderId: number | null;
  contact: 'allowed' | 'withheld' | null;
  due: 'never' | 'now' | 'in an hour';
  owner: Name | 'dead' | null;
  isOver: boolean;
};

/** Steps replace arrays and workers, and change the fields of the other parts. */
export type OrderState = {
  shop: number;
  isYoung: boolean;
  service: { orderId: number | null; orders: number; subs: Sub[]; nextId: number };
  /** `by` null: nobody waits for the response. */
  air: { operation: Operation; by: Name | null }[];
  row: Row | null;
  links: Link[];
  cursor: number;
  /** The next run reads the order again although the cursor has passed it. */
  isInLookback: boolean;
  workers: Record<Name, Worker>;
  hasBackfilled: boolean;
  mayBeReviewed: boolean;
  allowanceLeft: number;
  faultsLeft: number;
  /**
   * For the invariants only: the newest version that was recorded, whose lease was first, removals of the day, what
   * went wrong.
   */
  seen: { newest: number; first: Kind | null; removed: number; wrong: keyof typeof mishaps | null };
};

const rounds = 2;
const mishaps = {
  outdated: 'no request carries an older version than one that was recorded',
  contact: 'contact is sent of young orders only, and never where the first lease was a backfill’s',
  removed: 'no sub-order with reviews or of somebody else is removed',
  emptied: 'an order that loses all its lines loses none',
};
const idle: Worker = { at: 'idle' };
const rightsOf = (kind: Kind) => ({ ...usualRights, trigger: kind === 'backfill' ? kind : 'sync' }) as const;
const [now, longAgo] = [new Date('2026-06-01'), new Date('2025-06-01')];
const ageOf = (isYoung: boolean) => ({ createdAt: isYoung ? now : longAgo, now });
const sizeOf = (size: Content) => ({ product_id: 1, price: size === 'S' ? '10' : '12', product_options: { size } });
const withLink = (links: Link[], line: string, link?: Link): Link[] =>
  [...links.filter((one) => one.line !== line), ...(link ? [link] : [])].sort((a, b) => (a.line < b.line ? -1 : 1));
const show = (one: Operation): string =>
  `${{ create: 'POST', change: 'PUT', remove: 'DELETE' }[one.kind]} of line ${one.line}${'content' in one ? ` (${one.content})` : ''}`;

export function orderModel(scenario: OrderScenario, changed: Partial<OrderDesign> = {}): Model<OrderState> {
  const design: OrderDesign = { ...orderDesign, ...changed };
  const kinds: Record<Name, Kind> = { A: 'sync', B: scenario.other ?? 'sync' };
  const allowance = scenario.allowance ?? 2;
  const versionAt = (index: number) => scenario.versions[index] as Version;
  const foreign = (scenario.foreign ?? []).map((content, index) => {
    return { id: index + 1, content, isForeign: true, hasReviews: false };
  });
  const strange = foreign.filter(({ content }) =>
    scenario.versions.every(({ lines }) => !Object.values(lines).includes(content)),
  );
  const orders = foreign.length > 0 ? 1 : 0;
  const initial: OrderState = {
    shop: 0,
    isYoung: true,
    service: { orderId: orders || null, orders, subs: foreign, nextId: foreign.length + 1 },
    air: [],
    row: null,
    links: [],
    cursor: scenario.isPassed ? 0 : -1,
    isInLookback: false,
    workers: { A: idle, B: idle },
    hasBackfilled: false,
    mayBeReviewed: scenario.mayBeReviewed ?? false,
    allowanceLeft: allowance,
    faultsLeft: scenario.faultsAtMost,
    seen: { newest: -1, first: null, removed: 0, wrong: null },
  };

  /**
   * The real difference between the order as it was shown and as the worker wants it: links to write, requests to send.
   */
  function difference({ version, links, orderId, failed, seen }: Attempt, shownId: number | null) {
    const { lines, isDeleted } = versionAt(version);
    const contentOf = (content: Content) => sizeOf(design.matchesByContent ? content : 'S');
    const linesWanted = Object.entries(lines).map(([lineCode, one]) => ({ lineCode, content: contentOf(one) }));
    const order = { deletedAt: isDeleted ? new Date() : undefined };
    const raw = { order: {}, lines: [] };
    const desired = { order, raw, body: {}, lines: linesWanted, waiting: [], faulty: [] };
    const subOrdersShown = seen.map(({ id, content, hasReviews }) => {
      const { price, ...rest } = contentOf(content);
      return {
        ...rest,
        id,
        price: { cents: Number(price) * 100 },
        reviews_count: hasReviews && design.sparesReviews ? 1 : 0,
      };
    });
    const known = links.filter(({ id }) => id !== null || design.looksForLostCreate);
    const lineLinks = known.map(({ line, id, content, isOurs, before }) => {
      const isRemovable = isOurs || !design.sparesForeign;
      return { lineCode: line, subOrderId: id, content: contentOf(content), isOurs: isRemovable, idsBefore: before };
    });
    const shown = { id: shownId, code: 'O', total_price: null, sub_orders: subOrdersShown } as unknown as OrderDetail;
    const failures = failed.map((lineCode) => ({ lineCode, reason: '', failure: 'transient' as const }));
    const memory = asShown({ ...memoryOf(undefined, lineLinks), orderId, failures }, shown);
    const { subOrders } = compareOrder(desired as unknown as DesiredOrder, shown, memory, true);
    const isIn = (all: readonly { lineCode: string }[], line: string) => all.some((one) => one.lineCode === line);
    let after = links.filter(({ line }) => isIn(subOrders.links, line) || !isIn(lineLinks, line));
    for (const link of subOrders.links) {
      if (lineLinks.some((one) => one === link)) continue;
      const { lineCode: line, subOrderId: id, isOurs, idsBefore } = link;
      const before = id === null || design.looksAgainForFound ? idsBefore : null;
      // A lost creation may be found for a line that the shop has removed.
      const sent = lines[line] ?? links.find((one) => one.line === line)?.content;
      after = withLink(after, line, { line, id, content: sent as Content, isOurs, before, isHourOld: false });
    }
    const content = (line: string) => lines[line] as Content;
    const change = subOrders.matched.flatMap(({ lineCode: line, subOrderId: id, patch }): Operation[] => {
      const isOther = seen.some((sub) => sub.id === id && sub.content !== content(line));
      return Object.keys(patch).length > 0 || isOther ? [{ kind: 'change', line, id, content: content(line) }] : [];
    });
    const remove = subOrders.remove.map(({ lineCode: line, subOrderId: id }) => ({
      kind: 'remove' as const,
      line,
      id,
    }));
    const create = subOrders.create.map(({ lineCode: line, isSentAgain }): Operation => {
      return { kind: 'create', line, content: content(line), isSentAgain, version };
    });
    return { links: after, change, remove, create };
  }

  function next(state: OrderState): Step<OrderState>[] {
    const steps: Step<OrderState>[] = [];
    const copyOf = ({ service, row, workers, seen, ...rest }: OrderState): OrderState => {
      return { ...rest, service: { ...service }, row: row && { ...row }, workers: { ...workers }, seen: { ...seen } };
    };
    const add: Add = (action, ...changes) => {
      const after = copyOf(state);
      for (const change of changes) typeof change === 'function' ? change(after) : Object.assign(after, change);
      steps.push({ action, state: after });
    };
    const outside: Add = (action, ...changes) => {
      add(action, ...changes);
      (steps.at(-1) as Step<OrderState>).isFault = true;
    };
    const fault: Add = (action, ...changes) => {
      if (state.faultsLeft > 0) outside(action, ...changes, { faultsLeft: state.faultsLeft - 1 });
    };
    const { shop, air, row, workers, service } = state;
    const areAt = (...places: Worker['at'][]) => Object.values(workers).every(({ at }) => places.includes(at));
    if (shop + 1 < scenario.versions.length)
      outside('the shop changes the order', { shop: shop + 1, isInLookback: design.readsLookback });
    if (scenario.mayGrowOld && state.isYoung) outside('the order grows old', { isYoung: false });
    for (const request of air.filter(({ by }) => by === null)) {
      const { operation } = request;
      const left = air.filter((one) => one !== request);
      if (operation.kind === 'create' && operation.version === shop)
        add(`the service carries out ${show(operation)}, late`, { air: left }, (to) => carryOut(to, operation));
      add(`${show(operation)} never reaches the service`, { air: left });
    }
    if (state.mayBeReviewed && areAt('idle', 'read'))
      for (const sub of service.subs)
        outside(`a customer reviews sub-order ${sub.id}`, { mayBeReviewed: false }, (to) => {
          to.service.subs = service.subs.map((one) => (one === sub ? { ...sub, hasReviews: true } : one));
        });
    if (row && air.length === 0 && areAt('idle'))
      add('a day passes', (to) => {
        to.row = {
          ...row,
          due: row.due === 'never' ? 'never' : 'now',
          isOver: row.owner !== null && design.leasesRunOut,
        };
        to.links = to.links.map((link) => ({ ...link, isHourOld: true }));
        to.allowanceLeft = allowance;
        to.seen.removed = 0;
      });
    const owner = row?.owner ?? null;
    if (row && owner !== null && row.isOver && owner !== 'dead')
      add(`${owner} renews its lease`, { row: { ...row, isOver: false } });
    if (row && owner !== null && !row.isOver && design.leasesRunOut) {
      const isOutlasted = design.leaseOutlastsRequests && air.some(({ by }) => by === owner);
      const runOut = { row: { ...row, isOver: true } };
      if (owner === 'dead') add('the lease of a dead worker runs out', runOut);
      else if (!isOutlasted) fault(`${owner} is frozen, or cut off, until its lease has run out`, runOut);
    }
    for (const name of ['A', 'B'] as const) workerSteps(state, name, { add, fault });
    return steps;
  }
  type Add = (action: string, ...changes: (Partial<OrderState> | ((to: OrderState) => void))[]) => void;

  function workerSteps(state: OrderState, name: Name, { add, fault }: { add: Add; fault: Add }): void {
    const worker = state.workers[name];
    const { row, service } = state;
    const kind = kinds[name];
    const isAllowing = kind === 'allowing';
    const otherName = name === 'A' ? 'B' : 'A';
    const isOtherIdle = state.workers[otherName].at === 'idle';
    const isHolder = row?.owner === name;
    const mayWrite = isHolder || !design.writesAreFenced;
    const maySend = (isHolder && !row.isOver) || !design.sendsOnlyUnderLease;
    const version = worker.at === 'idle' ? state.shop : worker.version;
    const { isDeleted = false, lines } = versionAt(version);
    const fingerprint = JSON.stringify(versionAt(version));
    const pushedOf = (one: Row) => (one.owner === null || !design.forgetsFingerprintOfLostPush ? one.pushed : null);
    const isUnchanged = (one: Row) => pushedOf(one) === fingerprint && one.due !== 'now';

    /** The run has ended. A sync moves its cursor. */
    const end = (to: OrderState, { isAlone }: Copy): void => {
      to.workers[name] = idle;
      if (kind === 'backfill') to.hasBackfilled = true;
      else to.cursor = Math.max(to.cursor, version);
      if (kind !== 'backfill' && isAlone && isOtherIdle && version === to.shop) to.isInLookback = false;
    };
    const giveBack = (to: OrderState): void => void (to.row && Object.assign(to.row, { owner: null, isOver: false }));
    const leave = (to: OrderState, isStopped: boolean): void => {
      to.workers[name] = idle;
      to.air = to.air.map((one) => (one.by === name ? { ...one, by: null } : one));
      if (kind === 'backfill') to.hasBackfilled = true;
      if (to.row && isHolder) Object.assign(to.row, { owner: 'dead', isOver: isStopped || to.row.isOver });
    };
    /** The lease is lost: the order is looked at again, with the copy that is there. */
    const lose = ({ isStale, isAlone, wasYoung }: Copy): void => {
      add(`${name} sees that its lease is lost`, (to) => {
        to.workers[name] = { at: 'read', version, isStale, isAlone, wasYoung };
        if (to.row && isHolder) Object.assign(to.row, { owner: 'dead', isOver: true });
      });
    };
    const record = (to: OrderState, attempt: Attempt, more: Partial<Attempt> = {}): void => {
      const { failed, unknown, held, links, orderId } = { ...attempt, ...more };
      const hasFailed = failed.length + unknown.length + held > 0;
      const isWatchOver = ({ isHourOld, id }: Link) =>
        isHourOld && id !== null && (!hasFailed || !design.looksAgainAfterFailure);
      to.links = links.map((link) => (isWatchOver(link) ? { ...link, before: null } : link));
      const isWatched = to.links.some(({ id, before }) => id !== null && before !== null);
      const due = hasFailed && design.failureMakesDue ? 'now' : isWatched ? 'in an hour' : 'never';
      const contact = to.row?.contact ?? firstDecision(ageOf(state.isYoung), rightsOf(kind));
      to.row = { pushed: fingerprint, orderId, contact, due, owner: null, isOver: false };
      end(to, attempt);
      const other = to.workers[otherName];
      if (other.at !== 'idle') to.workers[otherName] = { ...other, isStale: true };
      to.seen.newest = Math.max(to.seen.newest, version);
    };

    if (worker.at === 'idle') {
      const isDue = row !== null && (row.due === 'now' || (row.owner !== null && design.leaseMakesDue));
      const isRead = state.cursor < version || state.isInLookback || isDue;
      if (!{ sync: isRead, backfill: !state.hasBackfilled, allowing: row !== null }[kind]) return;
      const copy: Copy = { version, isStale: false, isAlone: isOtherIdle, wasYoung: state.isYoung };
      const isSame = row ? isUnchanged(row) && !(isAllowing && row.due !== 'never') : isDeleted;
      if (isSame) add(`${name} finds the order unchanged`, (to) => end(to, copy));
      else add(`${name} reads the order`, { workers: { ...state.workers, [name]: { at: 'read', ...copy } } });
      return;
    }
    if (worker.at === 'read') {
      if (row && row.owner !== null && !row.isOver) return;
      const contact = design.contactDecidedWithLease ? firstDecision(ageOf(state.isYoung), rightsOf(kind)) : null;
      const free: Row = row ?? { pushed: null, orderId: null, contact, due: 'never', owner: null, isOver: false };
      const isLost = pushedOf(free) === null && design.rereadsAfterLostPush;
      const mustRead = row ? isLost || (worker.isStale && design.rereadsStaleCopy) : design.rereadsNewOrder;
      const none = { held: 0, failed: [], unknown: [], seen: [], todo: [] };
      const begun = { isNew: row === null, orderId: free.orderId, links: state.links, round: 1, ...none };
      add(`${name} takes the lease`, (to) => {
        to.workers[name] = { ...worker, ...begun, at: mustRead ? 'stale' : 'leased' };
        to.row = { ...free, pushed: pushedOf(free), contact: free.contact ?? contact, owner: name, isOver: false };
        to.seen.first ??= kind;
      });
      return;
    }

    const become = (to: OrderState, at: Pushing, more: Partial<Attempt> = {}): void => {
      to.workers[name] = { ...worker, ...more, at };
    };
    fault(`${name} dies`, (to) => leave(to, false));
    if (isHolder) fault(`${name} is stopped`, (to) => leave(to, true));
    switch (worker.at) {
      case 'stale':
        add(`${name} reads the order again under its lease`, (to) => become(to, 'leased', { version: state.shop }));
        return;
      case 'leased': {
        const isFirst = worker.round === 1;
        const isAbsent = service.orderId === null || (worker.orderId ?? service.orderId) !== service.orderId;
        const mustDelete = isDeleted && isFirst && !service.subs.some(({ hasReviews }) => hasReviews);
        // An order whose deletion is held back is sent without contact, or not at all where no contact of it is there.
        const isHeld = mustDelete && !isAbsent && !isAllowing && state.allowanceLeft === 0;
        if (isHolder && isFirst && ((isDeleted && worker.isNew) || isUnchanged({ ...row, owner: null }))) {
          add(`${name} has nothing to send`, (to) => {
            end(to, worker);
            giveBack(to);
            if (worker.isNew) [to.row, to.seen.first] = [null, null];
          });
        } else if (mustDelete && isAbsent) {
          add(`${name} sees that the service lacks the order`, (to) => become(to, 'forgetting'));
        } else if (mustDelete && !isHeld) {
          add(`${name} may delete the order`, { allowanceLeft: state.allowanceLeft - (isAllowing ? 0 : 1) }, (to) =>
            become(to, 'deleting'),
          );
        } else if (!maySend) lose(worker);
        else {
          const isYoung = design.judgesAgeAtRequest ? state.isYoung : worker.wasYoung;
          const hasContact =
            !isDeleted && mayCarryContact({ decision: row?.contact ?? null, ...ageOf(isYoung) }, rightsOf(kind));
          const post = (to: OrderState, seen: Sub[]): void => {
            if (service.orderId === null) to.service.orderId = to.service.orders += 1;
            if (hasContact && (!state.isYoung || state.seen.first === 'backfill')) to.seen.wrong = 'contact';
            if (version < state.seen.newest) to.seen.wrong = 'outdated';
            become(to, 'posted', { seen, ...(isHeld && { held: 1 }) });
          };
          add(`${name} sends POST /v1/orders`, (to) => post(to, service.subs));
          if (isHeld && mayWrite && worker.orderId !== null && row?.pushed != null)
            add(`${name} sends nothing: no contact is to be cleared`, (to) => record(to, worker, { held: 1 }));
          for (const { id } of worker.links.filter(({ line }) => line in lines)) {
            const seen = service.subs.filter((sub) => sub.id !== id);
            if (seen.length < service.subs.length)
              fault(`the response to the POST of ${name} lacks sub-order ${id}`, (to) => post(to, seen));
          }
          if (mayWrite)
            fault(`the service fails for the POST of ${name}, and carries it out`, (to) => {
              post(to, []);
              record(to, worker, { failed: ['the order'] });
            });
        }
        return;
      }
      case 'posted': {
        if (!mayWrite) {
          lose(worker);
          return;
        }
        const { change, remove, create, links } = difference(worker, service.orderId);
        const isEmptied = Object.keys(lines).length === 0;
        const isCovered = remove.length <= state.allowanceLeft || !design.removalsFromAllowance;
        const isGranted = isAllowing || (isCovered && !(isEmptied && design.keepsEmptiedOrder));
        const todo = [...change, ...(isGranted ? remove : []), ...create];
        const held = worker.held + (isGranted ? 0 : remove.length);
        add(`${name} writes its links`, (to) => {
          become(to, 'sending', { orderId: service.orderId, links, held, todo, seen: [], unknown: [] });
          if (isGranted && !isAllowing && design.removalsFromAllowance) to.allowanceLeft -= remove.length;
          if (design.linksBeforeRequests) to.links = links;
          if (to.row && isHolder) to.row.isOver = false;
          if (isEmptied && !isAllowing && isGranted && remove.length > 0) to.seen.wrong = 'emptied';
        });
        return;
      }
      case 'sending': {
        const [operation] = worker.todo;
        if (operation && maySend)
          add(`${name} sends ${show(operation)}`, { air: [...state.air, { operation, by: name }] }, (to) =>
            become(to, 'waiting'),
          );
        else if (operation) lose(worker);
        else if (worker.unknown.length > 0 && worker.round < rounds)
          add(`${name} looks again`, (to) => become(to, 'leased', { round: worker.round + 1 }));
        else if (mayWrite) add(`${name} records the push`, (to) => record(to, worker));
        else lose(worker);
        return;
      }
      case 'waiting': {
        const [operation, ...todo] = worker.todo as [Operation, ...Operation[]];
        const { line } = operation;
        const link = worker.links.find((one) => one.line === line);
        const without = withLink(worker.links, line);
        const unknown = [...worker.unknown, line];
        const failed = [...worker.failed, line];
        const answer = (to: OrderState, more: Partial<Attempt>): void => {
          become(to, 'sending', { todo, ...more });
          to.air = to.air.filter(({ by }) => by !== name);
        };
        const isThere =
          operation.kind === 'create' ? service.orderId : service.subs.some(({ id }) => id === operation.id);
        if (!isThere) {
          const links = operation.kind === 'create' ? worker.links : without;
          add(`the service answers 404 to ${show(operation)}`, (to) => answer(to, { unknown, links }));
          return;
        }
        const base: Omit<Link, 'content' | 'id'> = { line, isOurs: false, before: null, isHourOld: false, ...link };
        let links = link?.id === service.nextId ? worker.links : without;
        if (operation.kind === 'change') links = withLink(without, line, { ...base, ...pick(operation) });
        if (operation.kind === 'remove' && link?.id !== operation.id) links = worker.links;
        if (operation.kind === 'create') {
          const before = operation.isSentAgain && design.looksAgainAfterHour ? base.before : null;
          const created = { ...base, before, isOurs: true, id: service.nextId, content: operation.content };
          links = withLink(without, line, created);
        }
        add(
          `the service carries out ${show(operation)} of ${name}`,
          (to) => carryOut(to, operation),
          (to) => answer(to, { links }),
        );
        fault(`the response to ${show(operation)} is lost`, (to) => {
          answer(to, { unknown });
          if (operation.kind === 'create') to.air = [...to.air, { operation, by: null }];
          else carryOut(to, operation);
        });
        const isDropped = operation.kind === 'create' && !(operation.isSentAgain && design.refusalIsOfOneRequest);
        fault(`the service refuses ${show(operation)}`, (to) =>
          answer(to, { failed, links: isDropped ? without : worker.links }),
        );
        return;
      }
      case 'deleting': {
        if (!maySend) {
          lose(worker);
          return;
        }
        const gone = (to: OrderState): void => {
          to.service = { ...service, orderId: null, subs: [] };
          if (!isAllowing) to.seen.removed += 1;
          if (service.subs.some(({ hasReviews }) => hasReviews)) to.seen.wrong = 'removed';
        };
        add(`${name} deletes the order at the service`, gone, (to) => become(to, 'forgetting'));
        if (mayWrite) {
          // The order is not sent: the POST could create it again.
          const isNotSent = (to: OrderState) => record(to, worker, { failed: ['the order'] });
          fault(`the response to the deletion by ${name} is lost`, gone, isNotSent);
          fault(`the deletion by ${name} is lost, or refused with no contact to clear`, isNotSent);
        }
        fault(`the service refuses the deletion by ${name}`, (to) =>
          become(to, 'leased', { round: rounds, failed: ['the order'] }),
        );
        return;
      }
      case 'forgetting':
        if (!mayWrite) {
          lose(worker);
          return;
        }
        add(`${name} forgets the order`, (to) => {
          end(to, worker);
          [to.row, to.links, to.seen.first] = [null, [], null];
          to.seen.newest = Math.max(to.seen.newest, version);
        });
        return;
      default:
        worker satisfies never;
    }
  }
  const pick = ({ id, content }: { id: number; content: Content }) => ({ id, content });

  function carryOut({ service, seen, workers }: OrderState, operation: Operation): void {
    const { subs, nextId } = service;
    if (operation.kind === 'create') {
      if (service.orderId === null) return;
      service.subs = [...subs, { id: nextId, content: operation.content, isForeign: false, hasReviews: false }];
      service.nextId += 1;
      return;
    }
    const { id } = operation;
    if (operation.kind === 'change') {
      service.subs = subs.map((sub) => (sub.id === id ? { ...sub, content: operation.content } : sub));
      return;
    }
    service.subs = subs.filter((sub) => sub.id !== id);
    if (subs.some((sub) => sub.id === id && (sub.isForeign || sub.hasReviews))) seen.wrong = 'removed';
    if (kinds.B !== 'allowing' || workers.B.at !== 'waiting') seen.removed += 1;
  }

  /** Nobody is at work, and no run would read the order. */
  const isAtRest = ({ workers, cursor, shop, isInLookback, row, hasBackfilled }: OrderState): boolean => {
    const isIdle = Object.values(workers).every(({ at }) => at === 'idle') && (hasBackfilled || kinds.B !== 'backfill');
    const isDue = row !== null && (row.due === 'now' || (row.owner !== null && design.leaseMakesDue));
    return isIdle && cursor >= shop && !isInLookback && !isDue;
  };
  const isLookedFor = ({ row, air }: OrderState): boolean => row?.due === 'in an hour' || air.length > 0;
  /**
   * The service has each line of the shop; and nothing else but what must not be removed, and copies that are looked
   * for.
   */
  function isInLine(state: OrderState): boolean {
    const { orderId, subs } = state.service;
    const { lines, isDeleted = false } = versionAt(state.shop);
    const isKept = subs.some(({ hasReviews }) => hasReviews);
    if (orderId === null || (isDeleted && !isKept)) return isDeleted && orderId === null;
    return (['S', 'M'] as const).every((size) => {
      const wanted = Object.values(lines).filter((content) => content === size).length;
      const shown = subs.filter(({ content }) => content === size);
      const ours = shown.filter((sub) => !sub.isForeign && !sub.hasReviews).length;
      return shown.length >= wanted && (isLookedFor(state) || ours <= wanted);
    });
  }

  return {
    initial,
    next,
    key: (state) => keyOf(state, kinds.B === 'sync'),
    invariants: {
      'when no run is left to be made, the service has what the shop has': (state) =>
        !isAtRest(state) || isInLine(state),
      'a day removes no more than its allowance': ({ seen }) => seen.removed <= allowance,
      'a sub-order of somebody else that is like no line stays as it is': ({ service: { orderId, subs } }) =>
        orderId === null ||
        strange.every(({ id, content }) => subs.some((sub) => sub.id === id && sub.content === content)),
      ...Object.fromEntries(
        Object.entries(mishaps).map(([mishap, promise]) => [promise, ({ seen }: OrderState) => seen.wrong !== mishap]),
      ),
    },
    goal: {
      name: 'the service gets what the shop has, each line once',
      isReached: (state) => isAtRest(state) && !isLookedFor(state) && isInLine(state),
    },
    probes: {
      'two workers hold copies of one order': ({ workers }) => workers.A.at !== 'idle' && workers.B.at !== 'idle',
      'a worker goes on although another has taken its lease': ({ workers, row }) =>
        (workers.A.at === 'sending' && row?.owner === 'B') || (workers.B.at === 'sending' && row?.owner === 'A'),
      'a create is in the air and its worker is gone': ({ air }) => air.some(({ by }) => by === null),
      'a line has two sub-orders': ({ service, links }) =>
        scenario.versions.length === 1 && service.subs.length > Math.max(1, links.length),
      'a linked sub-order is not shown': ({ workers, service }) =>
        Object.values(workers).some((one) => one.at === 'posted' && one.seen.length < service.subs.length),
      'the push of a backfill has died': ({ row, workers }) =>
        kinds.B === 'backfill' && row?.owner === 'dead' && workers.A.at === 'idle',
      'removals are held back': ({ row, allowanceLeft }) => row?.due === 'now' && allowanceLeft === 0,
      'a sub-order with reviews has no line': ({ service, shop }) =>
        service.subs.some(({ hasReviews }) => hasReviews) &&
        service.subs.length > Object.keys(versionAt(shop).lines).length,
      'a copy is older than what was pushed since': ({ workers, seen }) =>
        Object.values(workers).some((one) => one.at === 'read' && seen.newest > one.version),
    },
  };
}

/** Two workers of one kind are alike: swapped, it is the same state. */
function keyOf({ workers, row, air, ...state }: OrderState, areAlike: boolean): string {
  const of = (by: Name | null) => air.filter((one) => one.by === by).map((one) => JSON.stringify(one.operation));
  const both = (['A', 'B'] as const).map((name) => JSON.stringify([workers[name], row?.owner === name, of(name)]));
  const owner = row && (row.owner === 'dead' || row.owner === null ? row.owner : 'alive');
  return JSON.stringify([state, row && { ...row, owner }, of(null).sort(), areAlike ? both.sort() : both]);
}
