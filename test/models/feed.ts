/**
 * The protocol "the cursor follows the feed": which orders an incremental run reads, as sync-orders.ts and where-to-start.ts decide
 * it, and what a rescan finds that the runs have passed over.
 *
 * The world: two clocks of a few ticks (the warehouse's and the shop's), two orders, a change feed of `(code, changed_at)`, the
 * service, the cursor, and two workers. A run reads one order a batch:
 *
 *     idle ─ plan ─▶ batch ─ push ─▶ save the cursor ─▶ plan the next batch ─▶ … ─▶ conclude ─▶ idle
 *
 * Each of these commits by itself, and a page that is not full is the last of its kind. The first run of a shop walks over all orders
 * by code. How one order is pushed, by whom and how often, is the model of orders.ts: here a push reads the order and records it in
 * one action. Where a run starts is decided by the real `whereToStart`; a tick is a minute. Of a recording (feed-trace.ts), a tick
 * is a millisecond, and orders and batches are those of the recorded world.
 *
 * What the model assumes, because the code cannot enforce it:
 *
 * - A transaction of the shop commits no later than the lookback after the date that it writes, and the shop's clock is not set
 *   back meanwhile. What commits later, or has no date of its own, waits for a rescan.
 * - The shop's clock is not set back before the first run has ended: until then nothing says when a cursor was taken.
 */
import { whereToStart } from '../../src/orders/which/where-to-start.ts';
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
  /** The world of a recording. */
  traced?: TracedFeed;
};

/** `shop`: the orders after each change. `clocks`: those of the moments at which runs were planned. */
export type TracedFeed = {
  codes: readonly string[];
  begin: Pick<FeedState, 'orders' | 'places' | 'cursor' | 'walk'>;
  shop: readonly (readonly Order[])[];
  clocks: readonly Clock[];
  lookbackMinutes: number;
  batchSize: number;
};

/** What a recording shows of an action; the state after it says the rest. */
export type FeedEvent =
  | { kind: 'shop' | 'cursor' | 'walk' }
  | { kind: 'push'; of: Which }
  /** `isFirst`: the run begins with this batch. */
  | { kind: 'plan'; run: RunName; isFirst: boolean }
  | { kind: 'failed'; run: RunName }
  | { kind: 'end'; run: RunName; isDone: boolean };

/** An order, by its number in the order of codes. */
type Which = number;
export type RunName = 'A' | 'B';
export type Clock = { now: number; shopNow: number };
export type Position = { at: number; code: string };
export type Cursor = Position & { readTo: number | null };
/** `pending`: the date of a change that is not committed yet. `isHidden`: its last change has no date, or committed too late. */
export type Order = { version: number; date: number; pending: number | null; isHidden: boolean; isGone: boolean };
/** What the service has, and the fingerprint that the warehouse knows; null: none. */
export type Place = { service: number | null; pushed: number | null };
export type Run = {
  kind: 'sync' | 'rescan';
  shopNow: number;
  readTo: number;
  /** Orders of the batch that are still to be pushed; of a rescan, all. */
  batch: readonly Which[];
  next: Position | null;
  upTo: Position | null;
  /** How many orders the walk has passed with this batch, when it began, and whether it is the last batch; null: no walk. */
  walk: { passed: number; beganAt: number; isOver: boolean } | null;
  hasFailed: boolean;
  /** What the shop had when the run was planned. For the invariant only. */
  saw: readonly number[];
};

export type FeedState = {
  now: number;
  /** How far the shop's clock is behind the warehouse's. */
  behind: number;
  orders: readonly Order[];
  places: readonly Place[];
  cursor: Cursor | null;
  /** sync.order_walk: where the first run stands. */
  walk: { beganAt: number; passed: number } | null;
  runs: { A: Run | null; B: Run | null };
  /** Of a recording: changes of the shop that are still to come. */
  changesLeft: number;
  faultsLeft: number;
  /** A run ended done and had not pushed what the shop had when it was planned. */
  isWrong: boolean;
};

const names = ['A', 'B'] as const;
const start: Position = { at: Number.NEGATIVE_INFINITY, code: '' };
const isAfter = (one: Position, other: Position): boolean =>
  one.at > other.at || (one.at === other.at && one.code > other.code);

export function feedModel(scenario: FeedScenario, changed: Partial<FeedDesign> = {}): Model<FeedState, FeedEvent> {
  const design: FeedDesign = { ...feedDesign, ...changed };
  const { traced } = scenario;
  const { codes, batchSize, lookbackMinutes } = traced ?? { codes: ['a', 'b'], batchSize: 1, lookbackMinutes: 1 };
  const tickMs = traced ? 1 : 60_000;
  const lookback = (lookbackMinutes * 60_000) / tickMs;
  const textOf = (tick: number): string => new Date(Math.floor(tick * tickMs)).toISOString();
  const tickOf = (text: string): number => (text === '-infinity' ? start.at : Date.parse(text) / tickMs);
  const all = codes.map((_, of) => of);
  const codeOf = (of: Which): string => codes[of] ?? '';
  const begin = 2;
  const order: Order = { version: 0, date: 0, pending: null, isHidden: false, isGone: false };
  const place: Place = scenario.isFirst ? { service: null, pushed: null } : { service: 0, pushed: 0 };
  const initial: FeedState = {
    now: begin,
    behind: 0,
    orders: all.map(() => order),
    places: all.map(() => place),
    cursor: scenario.isFirst ? null : { at: 0, code: 'b', readTo: begin },
    walk: null,
    runs: { A: null, B: null },
    changesLeft: traced ? traced.shop.length : scenario.changes,
    faultsLeft: scenario.faultsAtMost ?? 0,
    isWrong: false,
    ...traced?.begin,
  };
  const may = (fault: FeedFault) => scenario.faults?.includes(fault) ?? false;

  const orderOf = ({ orders }: Pick<FeedState, 'orders'>, of: Which): Order => orders[of] ?? order;
  const placeOf = ({ places }: Pick<FeedState, 'places'>, of: Which): Place => places[of] ?? place;
  const positionOf = (state: Pick<FeedState, 'orders'>, of: Which): Position => ({
    at: orderOf(state, of).date,
    code: codeOf(of),
  });

  function next(state: FeedState): Step<FeedState, FeedEvent>[] {
    const steps: Step<FeedState, FeedEvent>[] = [];
    const add: Add = (action, change, observed) =>
      steps.push({ action, state: { ...state, ...change }, ...(observed && { observed }) });
    const outside: Add = (action, change, observed) =>
      steps.push({ action, state: { ...state, ...change }, isFault: true, ...(observed && { observed }) });
    const fault: Add = (action, change, observed) => {
      if (state.faultsLeft > 0) outside(action, { ...change, faultsLeft: state.faultsLeft - 1 }, observed);
    };
    if (traced) tracedSteps(state, traced, add);
    else {
      const isLate = state.orders.some(
        ({ pending }) => pending !== null && pending + lookback <= state.now - state.behind,
      );
      if (state.now < begin + scenario.ticks && !isLate) outside('a minute passes', { now: state.now + 1 });
      if (may('clock') && state.behind === 0 && state.orders.every(({ pending }) => pending === null))
        fault('the clock of the shop is set back by 3 minutes', { behind: 3 });
      for (const of of all) shopSteps(state, of, { add, outside, fault });
    }
    for (const name of scenario.workers === 1 ? names.slice(0, 1) : names) {
      const run = state.runs[name];
      if (run !== null) runSteps(state, name, run, add, fault);
      else for (const clock of clocksOf(state)) planSteps(state, name, clock, add);
    }
    return steps;
  }

  type Add = (action: string, change: Partial<FeedState>, observed?: FeedEvent) => void;

  /** What else happens in a recorded world. */
  function tracedSteps(state: FeedState, { shop }: TracedFeed, add: Add): void {
    const orders = shop.at(-state.changesLeft);
    if (state.changesLeft > 0 && orders)
      add('the shop changes', { orders, changesLeft: state.changesLeft - 1 }, { kind: 'shop' });
  }

  const clocksOf = ({ now, behind }: FeedState): readonly Clock[] => traced?.clocks ?? [{ now, shopNow: now - behind }];

  function shopSteps(state: FeedState, of: Which, { add, outside, fault }: Record<'add' | 'outside' | 'fault', Add>) {
    const order = orderOf(state, of);
    const { pending, isGone } = order;
    const shopNow = state.now - state.behind;
    const name = `order ${codeOf(of)}`;
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

  function planSteps(state: FeedState, name: RunName, clock: Clock, add: Add): void {
    const { now: readTo, shopNow } = clock;
    const saw = state.orders.map(({ version }) => version);
    const none = { shopNow, readTo, next: null, upTo: null, walk: null, hasFailed: false, saw };
    if (scenario.kinds.includes('rescan') && state.cursor !== null)
      add(`${name} begins a rescan`, withRun(state, name, { ...none, kind: 'rescan', batch: all }));
    if (!scenario.kinds.includes('sync')) return;
    const run: Run = { ...none, kind: 'sync', batch: [] };
    const observed = { kind: 'plan', run: name, isFirst: true } as const;
    const { walk } = state;
    const first = startOf(state.cursor, clock);
    if (walk !== null)
      add(`${name} plans a walk from order ${walk.passed}`, withRun(state, name, walkFrom(run, walk)), observed);
    else if (first.at === start.at)
      add(`${name} begins a walk`, { walk: { beganAt: shopNow, passed: 0 } }, { kind: 'walk' });
    else add(`${name} plans a run from ${first.at}`, withRun(state, name, changesFrom(state, run, first)), observed);
  }

  function startOf(cursor: Cursor | null, { now, shopNow }: Clock): Position {
    if (cursor === null) return start;
    const minutes = design.readsLookback ? lookbackMinutes : 0;
    if (!design.distrustsCursorOfFuture) return { at: cursor.at - (minutes * 60_000) / tickMs, code: '' };
    const known = { at: textOf(cursor.at), ...(cursor.readTo !== null && { readTo: textOf(cursor.readTo) }) };
    const { at } = whereToStart(known, { shopNow: textOf(shopNow), now: new Date(now * tickMs) }, minutes);
    return { at: tickOf(at), code: '' };
  }

  /** A batch of the feed: the next orders behind the position. */
  function changesFrom(state: FeedState, run: Run, after: Position): Run {
    const batch = all
      .filter((of) => !orderOf(state, of).isGone && isAfter(positionOf(state, of), after))
      .sort((a, b) => (isAfter(positionOf(state, a), positionOf(state, b)) ? 1 : -1))
      .slice(0, batchSize);
    const last = batch.at(-1);
    if (last === undefined) return { ...run, batch, next: null, upTo: null, walk: null };
    const found = positionOf(state, last);
    const position = design.positionHasCode ? found : { ...found, code: '~' };
    const isAhead = Math.floor(found.at) > Math.floor(run.shopNow);
    const upTo = isAhead ? { at: run.shopNow, code: '' } : position;
    return { ...run, batch, next: batch.length < batchSize ? null : position, upTo, walk: null };
  }

  /** A batch of the walk by code. */
  function walkFrom(run: Run, { passed, beganAt }: { passed: number; beganAt: number }): Run {
    const batch = all.slice(passed, passed + batchSize);
    return { ...run, batch, walk: { beganAt, passed: passed + batch.length, isOver: batch.length < batchSize } };
  }

  function runSteps(state: FeedState, name: RunName, run: Run, add: Add, fault: Add): void {
    if (may('lost run')) fault(`the run of ${name} is lost`, withRun(state, name, null));
    if (run.batch.length > 0) pushSteps(state, name, run, add, fault);
    else if (run.kind === 'rescan') add(`${name} ends its rescan`, withRun(state, name, null));
    else endSteps(state, name, run, add);
  }

  function pushSteps(state: FeedState, name: RunName, run: Run, add: Add, fault: Add): void {
    // The orders of a batch are pushed side by side.
    for (const of of run.kind === 'sync' ? run.batch : run.batch.slice(0, 1)) {
      const batch = run.batch.filter((other) => other !== of);
      if (scenario.failing === of) {
        const hasFailed = withRun(state, name, { ...run, batch, hasFailed: true });
        add(`${name} cannot push order ${codeOf(of)}`, hasFailed);
        continue;
      }
      const places = pushed(state, of, run);
      const after = { ...withRun(state, name, { ...run, batch }), places };
      const action = `${name} pushes order ${codeOf(of)} as it is`;
      if (traced || places !== state.places) add(action, after, { kind: 'push', of });
      if (places === state.places) add(`${name} leaves order ${codeOf(of)} as it is`, after);
    }
    if (scenario.failing !== undefined) return;
    const failed = withRun(state, name, { ...run, batch: [], hasFailed: true });
    if (may('failed step') && run.kind === 'sync')
      fault(`the step of ${name} fails`, failed, { kind: 'failed', run: name });
  }

  /** The batch has ended: save the cursor, plan the next batch; after the last one, note until when the run has read, and end. */
  function endSteps(state: FeedState, name: RunName, run: Run, add: Add): void {
    const isHeld = run.hasFailed && design.failureHoldsCursor;
    const end = (isDone: boolean) => ({ kind: 'end', run: name, isDone }) as const;
    // Where no step of a batch succeeded, a system is down.
    if (run.hasFailed) add(`${name} ends incomplete, and reads no further`, withRun(state, name, null), end(false));
    const saved = isHeld ? undefined : savedAfter(state, run);
    if (saved) {
      add(`${name} saves how far it has come`, saved, { kind: 'cursor' in saved ? 'cursor' : 'walk' });
      return;
    }
    const isGivenUp = run.hasFailed && !design.failureDelaysNothingElse;
    const planned = isGivenUp ? null : nextBatch(state, run);
    if (planned !== null) {
      const early = design.savesAfterPush || isHeld ? {} : savedAfter(state, planned);
      const observed = { kind: 'plan', run: name, isFirst: false } as const;
      add(`${name} plans the next batch`, { ...early, ...withRun(state, name, planned) }, observed);
      return;
    }
    const readTo = design.readToIsPlanned ? run.readTo : state.now;
    const { cursor } = state;
    if (cursor && !isHeld && (cursor.readTo ?? start.at) < readTo) {
      add(`${name} notes until when it has read`, { cursor: { ...cursor, readTo } }, { kind: 'cursor' });
      return;
    }
    const isBehind = all.some((one) => {
      const { version, isHidden, isGone } = orderOf(state, one);
      const isSame = version === run.saw[one];
      return !isHidden && !isGone && isSame && placeOf(state, one).service !== version;
    });
    const isDone = !run.hasFailed;
    const isWrong = state.isWrong || (isDone && isBehind);
    add(`${name} ends ${isDone ? 'done' : 'incomplete'}`, { ...withRun(state, name, null), isWrong }, end(isDone));
  }

  function nextBatch(state: FeedState, run: Run): Run | null {
    const { walk, next } = run;
    if (walk === null) return next && changesFrom(state, run, next);
    if (!walk.isOver) return walkFrom(run, walk);
    // A walk of one batch saw one moment. During a longer one orders changed behind it.
    if (run.hasFailed || !design.readsChangesOfWalk || all.length < batchSize) return null;
    return changesFrom(state, run, { at: Math.floor(walk.beganAt) - (design.readsLookback ? lookback : 0), code: '' });
  }

  /** The next commit of `save` in sync-orders.ts; undefined where nothing is left to save. */
  function savedAfter({ cursor, walk, now, behind }: FeedState, run: Run): Partial<FeedState> | undefined {
    if (run.walk === null) return run.upTo ? moved(cursor, run.upTo) : undefined;
    const isSame = walk !== null && walk.beganAt === run.walk.beganAt;
    if (!run.walk.isOver) {
      const { passed } = run.walk;
      return isSame && walk.passed < passed ? { walk: { ...walk, passed } } : undefined;
    }
    const at = design.walkEndsWhereItBegan ? run.walk.beganAt : now - behind;
    return moved(cursor, { at, code: '' }) ?? (isSame ? { walk: null } : undefined);
  }

  /** Reads the order and pushes it, unless it was pushed as it is. A rescan deletes at the service what is gone. */
  function pushed(state: FeedState, of: Which, run: Run): FeedState['places'] {
    const { places } = state;
    const { version, isGone } = orderOf(state, of);
    const known = placeOf(state, of);
    if (isGone) {
      if (run.kind === 'sync') return withOne(places, of, { ...known, pushed: null });
      return withOne(places, of, { service: null, pushed: design.forgetsDeleted ? null : known.pushed });
    }
    if (known.pushed === version) return places;
    if (run.kind === 'rescan' && !design.rescanCompares) return places;
    return withOne(places, of, { service: version, pushed: version });
  }

  /** Nothing goes on, and the service has what the shop has. Hidden changes wait for a rescan. */
  function isSettled(state: FeedState): boolean {
    if (state.runs.A || state.runs.B) return false;
    return all.every((of) => {
      const { version, isHidden, isGone, pending } = orderOf(state, of);
      const waits = isHidden && !scenario.kinds.includes('rescan');
      const isPushed = placeOf(state, of).service === version;
      return isGone || pending !== null || waits || scenario.failing === of || isPushed;
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
      'an order changes behind the walk': (state) => {
        const { pushed } = placeOf(state, 0);
        return state.walk !== null && pushed !== null && pushed < orderOf(state, 0).version;
      },
      'both orders have one date': ({ orders }) =>
        orders.every(({ date, version }) => date === orders[0]?.date && version > 0),
      'a run is lost after it saved the cursor': ({ cursor, runs }) =>
        cursor !== null && cursor.readTo === null && runs.A === null && runs.B === null,
      'two runs are under way': ({ runs }) => runs.A !== null && runs.B !== null,
      'a change is there that no feed shows': (state) =>
        all.some((of) => orderOf(state, of).isHidden && placeOf(state, of).pushed !== orderOf(state, of).version),
      'an order is deleted at the service and returns': (state) =>
        all.some((of) => {
          const { isGone, isHidden } = orderOf(state, of);
          return !isGone && isHidden && placeOf(state, of).service === null;
        }),
      'the date of a change lies ahead': ({ orders, now, behind }) => orders.some(({ date }) => date > now - behind),
    },
  };
}

/** The cursor moves forward only; undefined where it is as far already. */
const moved = (cursor: Cursor | null, to: Position): Pick<FeedState, 'cursor'> | undefined =>
  cursor !== null && !isAfter(to, cursor) ? undefined : { cursor: { ...to, readTo: cursor?.readTo ?? null } };
const withOne = <T>(list: readonly T[], of: Which, one: T): readonly T[] => list.with(of, one);
const withRun = ({ runs }: FeedState, name: RunName, run: Run | null): Pick<FeedState, 'runs'> => ({
  runs: { ...runs, [name]: run },
});

/** The two workers are alike: swapped, it is the same state. */
function key({ runs, ...state }: FeedState): string {
  return JSON.stringify([Object.values(state), [JSON.stringify(runs.A), JSON.stringify(runs.B)].sort()]);
}
