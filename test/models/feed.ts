/**
 * The protocol "the cursor follows the feed": which orders an incremental run reads, as sync-orders.ts and where-to-start.ts decide
 * it, and what a rescan finds that the runs have passed over.
 *
 * The world: two clocks of a few ticks (the warehouse's and the shop's), two orders, a change feed of `(code, changed_at)`, the
 * service, the cursor, and two workers. A run reads one order a batch:
 *
 *     idle ─ plan ─▶ batch ─ push ─▶ save the cursor, plan the next batch ─▶ … ─▶ conclude ─▶ idle
 *
 * The first run of a shop walks over all orders by code. How one order is pushed, by whom and how often, is the model of orders.ts:
 * here a push reads the order and records it in one action. Where a run starts is decided by the real `whereToStart`; a tick is a
 * minute.
 *
 * What the model assumes, because the code cannot enforce it:
 *
 * - A transaction of the shop commits no later than the lookback after the date that it writes, and the shop's clock is not set
 *   back meanwhile. What commits later, or has no date of its own, waits for a rescan.
 * - The shop's clock is not set back before the first run has ended: until then nothing says when a cursor was taken.
 */
import { whereToStart } from '../../src/orders/where-to-start.ts';
import type { Model, Step } from './check.ts';

/** What keeps the promises. Each can be taken away, and then the checker finds the defect that it was built against. */
export const feedDesign = {
  /** A run reads from before its cursor: a transaction may commit later than its date. */
  readsLookback: true,
  /** The cursor moves once the orders of the batch are pushed. */
  savesAfterPush: true,
  /** The cursor stays where a step of the run failed. */
  failureHoldsCursor: true,
  /** A run goes on with the other orders where a step failed. */
  failureDelaysNothingElse: true,
  /** A cursor that lies in the shop's future, since its clock was set back or an order is dated ahead, is not believed. */
  distrustsCursorOfFuture: true,
  /** When the cursor was taken is the moment at which its run was planned. */
  readToIsPlanned: true,
  /** A position in the feed is a date and a code: several orders may have one date. */
  positionHasCode: true,
  /** After the first walk the cursor is where the walk began. */
  walkEndsWhereItBegan: true,
  /** A run that has walked reads what changed since the walk began, behind it. */
  readsChangesOfWalk: true,
  /** A rescan compares what was pushed with what the shop has, whatever the feed shows. */
  rescanCompares: true,
  /** An order that was deleted at the service is not known any more: it is pushed if it returns. */
  forgetsDeleted: true,
};
export type FeedDesign = typeof feedDesign;

export type FeedFault = 'lost run' | 'failed step' | 'late commit' | 'undated' | 'future' | 'clock' | 'gone';
export type FeedScenario = {
  kinds: readonly ('sync' | 'rescan')[];
  ticks: number;
  /** Dated changes of the shop. */
  changes: number;
  faults?: readonly FeedFault[];
  faultsAtMost?: number;
  /** The first run has not begun. */
  isFirst?: true;
  /** The push of this order fails for good. */
  failing?: Which;
  /** At most so many runs at once; 2 without it. */
  workers?: 1;
};

type Which = 0 | 1;
type RunName = 'A' | 'B';
type Position = { at: number; code: string };
type Cursor = Position & { readTo: number | null };
/** `pending`: the date of a change that is not committed yet. `isHidden`: its last change has no date, or committed too late. */
type Order = { version: number; date: number; pending: number | null; isHidden: boolean; isGone: boolean };
/** What the service has, and the fingerprint that the warehouse knows; null: none. */
type Place = { service: number | null; pushed: number | null };
type Run = {
  kind: 'sync' | 'rescan';
  shopNow: number;
  readTo: number;
  /** Orders of the batch that are still to be pushed; of a rescan, all. */
  batch: readonly Which[];
  next: Position | null;
  upTo: Position | null;
  /** How many orders the walk has passed with this batch, and when it began; null: no walk. */
  walk: { passed: number; beganAt: number } | null;
  hasFailed: boolean;
  /** What the shop had when the run was planned. For the invariant only. */
  saw: readonly [number, number];
};

export type FeedState = {
  now: number;
  /** How far the shop's clock is behind the warehouse's. */
  behind: number;
  orders: readonly [Order, Order];
  places: readonly [Place, Place];
  cursor: Cursor | null;
  /** sync.order_walk: where the first run stands. */
  walk: { beganAt: number; passed: number } | null;
  runs: { A: Run | null; B: Run | null };
  changesLeft: number;
  faultsLeft: number;
  /** A run ended done and had not pushed what the shop had when it was planned. */
  isWrong: boolean;
};

const lookback = 1;
const codes = ['a', 'b'] as const;
const both = [0, 1] as const;
const names = ['A', 'B'] as const;
const start: Position = { at: Number.NEGATIVE_INFINITY, code: '' };
const isAfter = (one: Position, other: Position): boolean =>
  one.at > other.at || (one.at === other.at && one.code > other.code);

const textOf = (tick: number): string => new Date(tick * 60_000).toISOString();
const tickOf = (text: string): number => (text === '-infinity' ? start.at : Date.parse(text) / 60_000);

export function feedModel(scenario: FeedScenario, changed: Partial<FeedDesign> = {}): Model<FeedState> {
  const design: FeedDesign = { ...feedDesign, ...changed };
  const begin = 2;
  const order: Order = { version: 0, date: 0, pending: null, isHidden: false, isGone: false };
  const place: Place = scenario.isFirst ? { service: null, pushed: null } : { service: 0, pushed: 0 };
  const initial: FeedState = {
    now: begin,
    behind: 0,
    orders: [order, order],
    places: [place, place],
    cursor: scenario.isFirst ? null : { at: 0, code: 'b', readTo: begin },
    walk: null,
    runs: { A: null, B: null },
    changesLeft: scenario.changes,
    faultsLeft: scenario.faultsAtMost ?? 0,
    isWrong: false,
  };
  const may = (fault: FeedFault) => scenario.faults?.includes(fault) ?? false;

  function next(state: FeedState): Step<FeedState>[] {
    const steps: Step<FeedState>[] = [];
    const add: Add = (action, change) => steps.push({ action, state: { ...state, ...change } });
    const outside: Add = (action, change) => steps.push({ action, state: { ...state, ...change }, isFault: true });
    const fault: Add = (action, change) => {
      if (state.faultsLeft > 0) outside(action, { ...change, faultsLeft: state.faultsLeft - 1 });
    };
    const isLate = state.orders.some(
      ({ pending }) => pending !== null && pending + lookback <= state.now - state.behind,
    );
    if (state.now < begin + scenario.ticks && !isLate) outside('a minute passes', { now: state.now + 1 });
    if (may('clock') && state.behind === 0 && state.orders.every(({ pending }) => pending === null))
      fault('the clock of the shop is set back by 3 minutes', { behind: 3 });
    for (const of of both) shopSteps(state, of, { add, outside, fault });
    for (const name of scenario.workers === 1 ? names.slice(0, 1) : names) {
      const run = state.runs[name];
      if (run === null) planSteps(state, name, add);
      else runSteps(state, name, run, add, fault);
    }
    return steps;
  }

  type Add = (action: string, change: Partial<FeedState>) => void;

  function shopSteps(state: FeedState, of: Which, { add, outside, fault }: Record<'add' | 'outside' | 'fault', Add>) {
    const order = state.orders[of];
    const { pending, isGone } = order;
    const shopNow = state.now - state.behind;
    const name = `order ${codes[of]}`;
    const change = (after: Partial<Order>) => ({ orders: withOne(state.orders, of, { ...order, ...after }) });
    const changedOrder = (after: Partial<Order>) => ({
      ...change({ version: order.version + 1, isHidden: false, ...after }),
      changesLeft: state.changesLeft - 1,
    });
    if (pending !== null) {
      const committed = { version: order.version + 1, date: pending, pending: null, isHidden: false };
      add(`the late change of ${name} is committed`, change(committed));
      return;
    }
    if (isGone) {
      outside(`${name} returns with its old date`, change({ isGone: false, isHidden: true }));
      return;
    }
    if (may('gone')) fault(`${name} is gone from the shop`, change({ isGone: true }));
    if (state.changesLeft === 0) return;
    outside(`the shop changes ${name}`, changedOrder({ date: shopNow }));
    if (may('undated')) fault(`the shop changes ${name} without a date`, changedOrder({ isHidden: true }));
    if (may('future')) fault(`the shop changes ${name} and dates it ahead`, changedOrder({ date: shopNow + 2 }));
    if (may('late commit')) {
      const late = { ...change({ pending: shopNow }), changesLeft: state.changesLeft - 1 };
      fault(`the shop changes ${name}, and commits it late`, late);
    }
  }

  function planSteps(state: FeedState, name: RunName, add: Add): void {
    const shopNow = state.now - state.behind;
    const saw = [state.orders[0].version, state.orders[1].version] as const;
    const none = { shopNow, readTo: state.now, next: null, upTo: null, walk: null, hasFailed: false, saw };
    if (scenario.kinds.includes('rescan') && state.cursor !== null)
      add(`${name} begins a rescan`, withRun(state, name, { ...none, kind: 'rescan', batch: both }));
    if (!scenario.kinds.includes('sync')) return;
    const run: Run = { ...none, kind: 'sync', batch: [] };
    const first = startOf(state);
    if (state.walk === null && first.at !== start.at) {
      const planned = changesFrom(state, run, first);
      add(`${name} plans a run from ${first.at}`, withRun(state, name, planned));
      return;
    }
    const walk = state.walk ?? { beganAt: shopNow, passed: 0 };
    const planned = walkFrom(run, walk);
    add(`${name} plans a walk from order ${walk.passed}`, { ...withRun(state, name, planned), walk });
  }

  function startOf({ cursor, now, behind }: FeedState): Position {
    if (cursor === null) return start;
    const minutes = design.readsLookback ? lookback : 0;
    if (!design.distrustsCursorOfFuture) return { at: cursor.at - minutes, code: '' };
    const known = { at: textOf(cursor.at), ...(cursor.readTo !== null && { readTo: textOf(cursor.readTo) }) };
    const clocks = { shopNow: textOf(now - behind), now: new Date(now * 60_000) };
    const { at } = whereToStart(known, clocks, minutes);
    return { at: tickOf(at), code: '' };
  }

  /** A batch of the feed: the next order behind the position. */
  function changesFrom({ orders }: FeedState, run: Run, after: Position): Run {
    const rows = both
      .filter((of) => !orders[of].isGone && isAfter({ at: orders[of].date, code: codes[of] }, after))
      .sort((a, b) => (isAfter(positionOf(orders, a), positionOf(orders, b)) ? 1 : -1));
    const [of] = rows;
    if (of === undefined) return { ...run, batch: [], next: null };
    const found = positionOf(orders, of);
    const position = design.positionHasCode ? found : { ...found, code: '~' };
    const upTo = found.at > run.shopNow ? { at: run.shopNow, code: '' } : position;
    return { ...run, batch: [of], next: position, upTo };
  }

  /** A batch of the walk by code. */
  const walkFrom = (run: Run, { passed, beganAt }: { passed: number; beganAt: number }): Run => ({
    ...run,
    batch: both.slice(passed, passed + 1),
    walk: { beganAt, passed: Math.min(passed + 1, both.length) },
  });

  function runSteps(state: FeedState, name: RunName, run: Run, add: Add, fault: Add): void {
    if (may('lost run')) fault(`the run of ${name} is lost`, withRun(state, name, null));
    const [of, ...batch] = run.batch;
    if (of !== undefined) {
      const failed = withRun(state, name, { ...run, batch, hasFailed: true });
      const action = `${name} cannot push order ${codes[of]}`;
      if (scenario.failing === of) {
        add(action, failed);
        return;
      }
      const done = { ...withRun(state, name, { ...run, batch }), places: pushed(state, of, run) };
      add(`${name} pushes order ${codes[of]} as it is`, done);
      if (may('failed step') && run.kind === 'sync') fault(action, failed);
      return;
    }
    if (run.kind === 'rescan') {
      add(`${name} ends its rescan`, withRun(state, name, null));
      return;
    }
    const isHeld = run.hasFailed && design.failureHoldsCursor;
    const saved = isHeld ? {} : savedAfter(state, run);
    const after = { ...state, ...saved };
    const isGivenUp = run.hasFailed && !design.failureDelaysNothingElse;
    const planned = isGivenUp ? null : nextBatch(after, run);
    if (planned !== null) {
      const early = design.savesAfterPush || isHeld ? {} : savedAfter(after, planned);
      add(`${name} saves the cursor and goes on`, { ...saved, ...early, ...withRun(state, name, planned) });
      return;
    }
    const isBehind = both.some((one) => {
      const { version, isHidden, isGone } = state.orders[one];
      const isSame = version === run.saw[one];
      return !isHidden && !isGone && isSame && state.places[one].service !== version;
    });
    const readTo = design.readToIsPlanned ? run.readTo : state.now;
    const cursor =
      after.cursor && !isHeld ? { ...after.cursor, readTo: Math.max(after.cursor.readTo ?? 0, readTo) } : after.cursor;
    const isDone = !run.hasFailed;
    add(`${name} ends ${isDone ? 'done' : 'incomplete'}`, {
      ...saved,
      cursor,
      ...withRun(state, name, null),
      isWrong: state.isWrong || (isDone && isBehind),
    });
  }

  function nextBatch(state: FeedState, run: Run): Run | null {
    const { walk } = run;
    if (walk !== null && walk.passed < both.length) return walkFrom(run, walk);
    if (walk !== null && (run.hasFailed || !design.readsChangesOfWalk)) return null;
    // During a walk orders changed behind it.
    const after = walk === null ? run.next : { at: walk.beganAt - (design.readsLookback ? lookback : 0), code: '' };
    if (after === null) return null;
    const planned = changesFrom(state, { ...run, walk: null }, after);
    return planned.batch.length === 0 ? null : planned;
  }

  /** As `save` in sync-orders.ts. */
  function savedAfter({ cursor, walk, now, behind }: FeedState, run: Run): Partial<FeedState> {
    if (run.walk === null) return run.upTo ? { cursor: advanced(cursor, run.upTo) } : {};
    if (walk === null) return {};
    if (run.walk.passed < both.length) return { walk: { ...walk, passed: Math.max(walk.passed, run.walk.passed) } };
    const at = design.walkEndsWhereItBegan ? walk.beganAt : now - behind;
    return { cursor: advanced(cursor, { at, code: '' }), walk: null };
  }

  /** Reads the order and pushes it, unless it was pushed as it is. A rescan deletes at the service what is gone. */
  function pushed({ orders, places }: FeedState, of: Which, run: Run): FeedState['places'] {
    const { version, isGone } = orders[of];
    const known = places[of];
    if (isGone) {
      if (run.kind === 'sync') return withOne(places, of, { ...known, pushed: null });
      return withOne(places, of, { service: null, pushed: design.forgetsDeleted ? null : known.pushed });
    }
    if (known.pushed === version) return places;
    if (run.kind === 'rescan' && !design.rescanCompares) return places;
    return withOne(places, of, { service: version, pushed: version });
  }

  /** Nothing goes on, and the service has what the shop has. Hidden changes wait for a rescan. */
  function isSettled({ orders, places, runs }: FeedState): boolean {
    if (runs.A || runs.B) return false;
    return both.every((of) => {
      const { version, isHidden, isGone, pending } = orders[of];
      const waits = isHidden && !scenario.kinds.includes('rescan');
      return isGone || pending !== null || waits || scenario.failing === of || places[of].service === version;
    });
  }

  return {
    initial,
    next,
    key,
    invariants: {
      'a run that ends done has pushed what had changed when it began': ({ isWrong }) => !isWrong,
    },
    goal: { name: 'the service gets what the shop has', isReached: isSettled },
    probes: {
      'the cursor has passed a change that is not committed': ({ cursor, orders }) =>
        orders.some(({ pending }) => pending !== null && cursor !== null && cursor.at > pending),
      'the cursor lies in the future of the shop': ({ cursor, now, behind }) =>
        cursor !== null && cursor.at > now - behind,
      'an order changes behind the walk': ({ walk, orders, places }) =>
        walk !== null && places[0].pushed !== null && places[0].pushed < orders[0].version,
      'both orders have one date': ({ orders }) =>
        orders[0].date === orders[1].date && orders[0].version > 0 && orders[1].version > 0,
      'a run is lost after it saved the cursor': ({ cursor, runs }) =>
        cursor !== null && cursor.readTo === null && runs.A === null && runs.B === null,
      'two runs are under way': ({ runs }) => runs.A !== null && runs.B !== null,
      'a change is there that no feed shows': ({ orders, places }) =>
        both.some((of) => orders[of].isHidden && places[of].pushed !== orders[of].version),
      'an order is deleted at the service and returns': ({ orders, places }) =>
        both.some((of) => !orders[of].isGone && orders[of].isHidden && places[of].service === null),
      'the date of a change lies ahead': ({ orders, now, behind }) => orders.some(({ date }) => date > now - behind),
    },
  };
}

const positionOf = (orders: FeedState['orders'], of: Which): Position => ({ at: orders[of].date, code: codes[of] });
const advanced = (cursor: Cursor | null, to: Position): Cursor =>
  cursor !== null && !isAfter(to, cursor) ? cursor : { ...to, readTo: cursor?.readTo ?? null };
const withOne = <T>(pair: readonly [T, T], of: Which, one: T): readonly [T, T] =>
  of === 0 ? [one, pair[1]] : [pair[0], one];
const withRun = ({ runs }: FeedState, name: RunName, run: Run | null): Pick<FeedState, 'runs'> => ({
  runs: { ...runs, [name]: run },
});

/** The two workers are alike: swapped, it is the same state. */
function key({ runs, ...state }: FeedState): string {
  return JSON.stringify([Object.values(state), [JSON.stringify(runs.A), JSON.stringify(runs.B)].sort()]);
}
