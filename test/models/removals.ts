/**
 * The protocol "nothing destroyed unasked": which sub-orders and orders a run removes at the service, as plan-steps.ts,
 * push-order.ts, remove-order.ts and remove-absent-orders.ts decide it.
 *
 * The world: two orders of three lines each, all at the service, and two workers, each with a run of its own. Of an order the model has
 * how many lines the shop shows; how a push matches, sends and retries is the model of orders.ts. A run does this:
 *
 *     idle ─ begin ─▶ pushing each order that it reads ─ plan ─▶ pushing what was counted ─▶ deleting absent orders ─▶ idle
 *
 * and one push is: read the order ─▶ lease ─▶ send ─▶ record. A run reads the orders that the change feed shows and those with
 * an open dead letter; a rescan reads all, and takes note of those whose row is gone. What is usual is decided by the real
 * `isUnusual`: one order or sub-order of the model stands for 11, so that one is usual and two are not.
 *
 * What the model assumes, because the code cannot enforce it:
 *
 * - The shop does not change an order between the moment a push reads it and the removal that the push sends.
 * - A run that was lost counts as ended before the next one plans its removals (`begin` in define-run.ts).
 */
import { isUnusual } from '../../src/orders/push/removal-guard.ts';
import type { Model, Step } from './check.ts';

/** What keeps the promise. Each can be taken away, and then the checker finds the defect that it was built against. */
export const removalDesign = {
  /** A push removes nothing: the last batch of the run does, which has counted all of it. */
  countsBeforeRemoving: true,
  /** What was counted is removed, and no more: the shop may have lost other lines since. */
  removesOnlyWhatWasCounted: true,
  /** An order that another run has pushed since it was counted is left to that run. */
  leavesOutPushedSince: true,
  /** What a run counted is not removed if another run has held it back since. */
  heldIsNotApproved: true,
  /** What runs that go on have noted is theirs to count. */
  countsOnlyOwn: true,
  /** What a run noted and did not remove before it was lost is counted by a later run. */
  remembersRemovals: true,
  /** A removal that was held back once is not usual because it comes alone later. */
  heldStaysHeld: true,
  /** A push that began before its order was held back does not undo that. */
  holdOutlastsPush: true,
  /** A push that the service refuses does not undo what was held back while it went on. */
  refusalKeepsHold: true,
  /** What is held back is an open dead letter, also after an error of the push. */
  errorKeepsHold: true,
  /** An order that the shop does not have any more has nothing that is held back. */
  vanishedIsNotHeld: true,
  /** An order that lost all of its lines loses none, however few it had. */
  keepsEmptiedOrder: true,
  /** The last batch reads the orders again, and removes nothing of those whose lines are back. */
  readsBeforeRemoving: true,
  /** Orders with an open dead letter are read although the feed does not show them. */
  readsHeldAgain: true,
  /** Orders that are gone count together with what pushes would remove. */
  countsAbsentTogether: true,
  /** An order is deleted by the second rescan that misses it, a day after the first. */
  waitsADay: true,
  /** The absence of an order that returned and was pushed begins again. */
  returnEndsAbsence: true,
  /** Right before an absent order is deleted, the shop is asked for it once more. */
  asksShopBeforeDeleting: true,
};
export type RemovalDesign = typeof removalDesign;

/** How many lines the shop shows of an order. `deleted`: it says that the order is deleted; `gone`: it has no row of it. */
export type Shown = 0 | 1 | 2 | 3 | 'deleted' | 'gone';
type Kind = 'sync' | 'rescan';
type Which = 0 | 1;

export type RemovalScenario = {
  kinds: readonly Kind[];
  /** What the shop may do to one order, each at most so often in all. */
  changes: readonly { to: Shown; isDated: boolean; of?: Which }[];
  changesAtMost: number;
  faults?: readonly ('lost run' | 'repeated step' | 'error' | 'refused')[];
  faultsAtMost?: number;
  /** Whether somebody gives --allow-removals once nothing else helps. */
  mayAllow?: true;
  /** Days that may pass. */
  days?: number;
  /** At most so many runs at once; 2 without it. */
  workers?: 1;
};

type RunName = 'A' | 'B';
/** sync.order_links with the order's dead letter. `pushed`: the fingerprint; `run`: who noted `wanted`; `ended`: a run that has ended. */
type Row = {
  pushed: Shown | null;
  wanted: number;
  isHeld: boolean;
  run: RunName | 'ended' | null;
  hasDeadLetter: boolean;
  isRetryDue: boolean;
};
/** sync.absent_orders. `isOld`: first missed a day ago; `isDue`: it was when it was missed last; `isPushedSince`. */
type Absence = {
  run: RunName | 'ended';
  isOld: boolean;
  isDue: boolean;
  isPushedSince: boolean;
  /** It went on although the order was pushed. For the invariant only. */
  isOverdrawn: boolean;
};
type Order = {
  shop: Shown;
  /** Sub-orders at the service; null: the order is not there. */
  subs: number | null;
  /** The change feed shows it to the next run. */
  isInFeed: boolean;
  row: Row | null;
  lease: RunName | 'dead' | null;
  absence: Absence | null;
  /** Something of it was held back, and it was not seen whole since. For the invariant only. */
  isHeldBack: boolean;
};
/** One push of a copy that was read. */
type Push = {
  of: Which;
  at: 'read' | 'leased';
  copy: Shown;
  /** What the row said when the lease was taken; null: there was none. */
  link: { wanted: number; isHeld: boolean } | null;
  /** Another worker has pushed the order since it was read. */
  isStale: boolean;
  /** What the shop had when it was read, and whether the order was held back when it was leased. For the invariants only. */
  shown: Shown;
  wasHeldBack: boolean;
};
type Run = {
  kind: Kind;
  isAllowed: boolean;
  /** `pushing`: orders that the run reads; `removing`: what was counted; `deleting`: orders that are gone. */
  at: 'pushing' | 'removing' | 'deleting';
  left: readonly Which[];
  push: Push | null;
  /** Orders that the feed showed and the shop has not changed since. */
  page: readonly Which[];
  /** Orders that another run has pushed since this one has counted. */
  pushedSince: readonly Which[];
  /** Of each order, what the run has noted, what it has counted and what it has removed. For the invariants only. */
  noted: readonly [number, number];
  removed: number;
  /** Another run has removed what this one noted. */
  isSplit: boolean;
  /** Neither the shop nor another run has changed anything since the run began. */
  isAlone: boolean;
};

export type RemovalState = {
  orders: readonly [Order, Order];
  runs: { A: Run | null; B: Run | null };
  changesLeft: number;
  faultsLeft: number;
  daysLeft: number;
  /** A promise that an action has broken. */
  broken: Broken | null;
};

/** Promises that an action breaks, rather than a state. */
const promises = {
  tooMany: 'a run removes no more than usual unless it is allowed',
  held: 'what was held back stays until it is allowed',
  emptied: 'an order does not lose all of its lines',
  shown: 'nothing is removed that the shop shows',
  split: 'no other run removes what a run would have held back',
  early: 'an order that was just missed is not deleted',
  done: 'a run that ends done has left nothing',
};
type Broken = keyof typeof promises;

const perUnit = 11;
const isFarMore = (removals: number): boolean => isUnusual({ read: 2, removals: removals * perUnit });
const both = [0, 1] as const;
const names = ['A', 'B'] as const;

const newRow: Row = { pushed: null, wanted: 0, isHeld: false, run: null, hasDeadLetter: false, isRetryDue: false };
const whole: Order = {
  shop: 3,
  subs: 3,
  isInFeed: false,
  row: { ...newRow, pushed: 3 },
  lease: null,
  absence: null,
  isHeldBack: false,
};

export function removalModel(scenario: RemovalScenario, changed: Partial<RemovalDesign> = {}): Model<RemovalState> {
  const design: RemovalDesign = { ...removalDesign, ...changed };
  const initial: RemovalState = {
    orders: [whole, whole],
    runs: { A: null, B: null },
    changesLeft: scenario.changesAtMost,
    faultsLeft: scenario.faultsAtMost ?? 0,
    daysLeft: scenario.days ?? 0,
    broken: null,
  };

  function next(state: RemovalState): Step<RemovalState>[] {
    const steps: Step<RemovalState>[] = [];
    const add: Add = (action, after) => steps.push({ action, state: after });
    const fault: Add = (action, after) => steps.push({ action, state: after, isFault: true });
    shopSteps(state, fault);
    for (const of of both) {
      const order = state.orders[of];
      if (order.lease !== 'dead') continue;
      // An expired lease is that of a push that was not recorded.
      const row = order.row && { ...order.row, pushed: null };
      add(`the lease of order ${of} runs out`, withOrder(state, of, { lease: null, row }));
    }
    for (const name of scenario.workers === 1 ? names.slice(0, 1) : names) {
      const run = state.runs[name];
      if (run === null) beginSteps(state, name, add);
      else {
        faultSteps(state, name, run, fault);
        if (run.push) pushSteps(state, name, run, run.push, add, fault);
        else runSteps(state, name, run, add);
      }
    }
    return steps;
  }

  type Add = (action: string, after: RemovalState) => void;

  function shopSteps(state: RemovalState, fault: Add): void {
    if (state.daysLeft > 0) {
      const aged = (order: Order) => ({ ...order, absence: order.absence && { ...order.absence, isOld: true } });
      const orders = [aged(state.orders[0]), aged(state.orders[1])] as const;
      fault('a day passes', { ...state, orders, daysLeft: state.daysLeft - 1 });
    }
    if (state.changesLeft === 0) return;
    for (const { to, isDated, of: only } of scenario.changes) {
      for (const of of both) {
        const order = state.orders[of];
        if (order.shop === to || (only !== undefined && only !== of)) continue;
        const changedOrder = withOrder(state, of, { shop: to, isInFeed: order.isInFeed || isDated });
        const runs = mapRuns(changedOrder.runs, (run) => ({
          ...run,
          isAlone: false,
          page: run.page.filter((one) => one !== of),
        }));
        const what = `the shop shows ${to} of order ${of}${isDated ? '' : ', without a date'}`;
        fault(what, { ...changedOrder, runs, changesLeft: state.changesLeft - 1 });
      }
    }
  }

  function beginSteps(state: RemovalState, name: RunName, add: Add): void {
    const isOtherBusy = names.some((one) => state.runs[one] !== null);
    for (const kind of scenario.kinds) {
      for (const isAllowed of scenario.mayAllow ? [false, true] : [false]) {
        const isRead = ({ isInFeed, row }: Order) =>
          kind === 'rescan' || isInFeed || row?.isRetryDue || (row?.hasDeadLetter && design.readsHeldAgain);
        const run: Run = {
          kind,
          isAllowed,
          at: 'pushing',
          left: both.filter((of) => isRead(state.orders[of])),
          push: null,
          page: both.filter((of) => state.orders[of].isInFeed && kind === 'sync'),
          pushedSince: [],
          noted: [0, 0],
          removed: 0,
          isSplit: false,
          isAlone: !isOtherBusy,
        };
        const runs = mapRuns(state.runs, (other) => ({ ...other, isAlone: false }));
        const begun = { ...state, runs: { ...runs, [name]: run } };
        const isIdle = run.left.length === 0 && both.every((of) => (state.orders[of].row?.wanted ?? 0) === 0);
        if (isIdle && kind === 'sync') continue;
        add(`${name} begins a ${kind}${isAllowed ? ' --allow-removals' : ''}`, begun);
      }
    }
  }

  function faultSteps(state: RemovalState, name: RunName, run: Run, fault: Add): void {
    if (state.faultsLeft === 0) return;
    if (scenario.faults?.includes('lost run')) fault(`the run of ${name} is lost`, lostRun(state, name));
    if (scenario.faults?.includes('repeated step') && run.push) {
      const left = [run.push.of, ...run.left].sort();
      const again = withRun(deadLeases(state, name), name, { push: null, left });
      fault(`the process of ${name} dies, and its step is repeated`, again);
    }
  }

  const deadLeases = (state: RemovalState, name: RunName): RemovalState => {
    const orphaned = mapOrders(state, (order) => (order.lease === name ? { ...order, lease: 'dead' } : order));
    return { ...orphaned, faultsLeft: state.faultsLeft - 1 };
  };
  const lostRun = (state: RemovalState, name: RunName): RemovalState => ended(deadLeases(state, name), name);

  /** As `recordError` in order-store.ts. */
  const failedPush = (state: RemovalState, name: RunName, push: Push): RemovalState => {
    const row = state.orders[push.of].row ?? newRow;
    const isKept = row.isHeld && design.errorKeepsHold;
    return recordedFailure(state, name, push, { ...row, wanted: isKept ? row.wanted : 0 });
  };

  /** As record_orders.sql does it for an order that was not accepted. */
  const refusedPush = (state: RemovalState, name: RunName, push: Push): RemovalState => {
    const row = state.orders[push.of].row ?? newRow;
    const isHeld = row.isHeld && (design.refusalKeepsHold || push.link?.isHeld === true);
    return recordedFailure(state, name, push, { ...row, isHeld, wanted: isHeld ? row.wanted : 0 });
  };

  const recordedFailure = (state: RemovalState, name: RunName, { of, copy }: Push, row: Row): RemovalState => {
    const failed = { ...row, pushed: copy, hasDeadLetter: true, isRetryDue: true };
    const after = withRun(withOrder(state, of, { row: failed, lease: null }), name, { push: null });
    return { ...after, faultsLeft: state.faultsLeft - 1 };
  };

  /** What a run does between two pushes. */
  function runSteps(state: RemovalState, name: RunName, run: Run, add: Add): void {
    const [of] = run.left;
    if (of !== undefined) {
      if (run.at === 'deleting') deleteStep(state, name, run, of, add);
      else readStep(state, name, run, of, add);
      return;
    }
    if (run.at === 'pushing') planStep(state, name, run, add);
    else if (run.at === 'removing') absentStep(state, name, run, add);
    else conclude(state, name, run, { isIncomplete: false }, add);
  }

  /** As a slice of a step: read the order, and leave it out where nothing is to be done. */
  function readStep(state: RemovalState, name: RunName, run: Run, of: Which, add: Add): void {
    const order = state.orders[of];
    const left = run.left.filter((one) => one !== of);
    const { row } = order;
    const isCounted = run.at === 'removing';
    const isBlind = isCounted && !design.readsBeforeRemoving && row !== null && row.wanted > 0;
    const copy = isBlind ? lessBy(order, row.wanted) : order.shop;
    const done = (action: string, after: RemovalState = state) => add(action, withRun(after, name, { left }));
    if (copy === 'gone') {
      const missed = run.kind === 'rescan' && !isCounted ? noteAbsent(state, name, of) : forgetVanished(state, of);
      done(`${name} sees that order ${of} is gone`, missed);
      return;
    }
    const seen = run.kind === 'rescan' && !isCounted ? withOrder(state, of, { absence: null }) : state;
    if (isCounted && run.pushedSince.includes(of) && design.leavesOutPushedSince) {
      done(`${name} leaves out order ${of}, which was pushed since`, seen);
      return;
    }
    if ((copy === 'deleted' && row === null) || isUnchanged(copy, row, run)) {
      done(`${name} finds order ${of} unchanged`, seen);
      return;
    }
    const push: Push = { of, at: 'read', copy, link: null, isStale: false, shown: order.shop, wasHeldBack: false };
    add(`${name} reads order ${of}`, withRun(seen, name, { left, push }));
  }

  function isUnchanged(copy: Shown, row: Row | null, run: Run): boolean {
    if (row === null || row.pushed !== copy || row.isRetryDue) return false;
    if (run.at === 'removing') return row.wanted === 0;
    return !run.isAllowed || !row.hasDeadLetter;
  }

  function pushSteps(state: RemovalState, name: RunName, run: Run, push: Push, add: Add, fault: Add): void {
    const { of } = push;
    const order = state.orders[of];
    const end = () => withRun(withOrder(state, of, { lease: null }), name, { push: null });
    switch (push.at) {
      case 'read': {
        if (order.lease !== null) return;
        if (push.isStale && run.at === 'removing' && design.leavesOutPushedSince) {
          add(`${name} leaves out order ${of}, which was pushed since`, end());
          return;
        }
        const copy = push.isStale ? order.shop : push.copy;
        if (copy === 'gone' || isUnchanged(copy, order.row, run) || (copy === 'deleted' && order.row === null)) {
          add(`${name} finds order ${of} pushed already`, end());
          return;
        }
        const leased = withOrder(state, of, { lease: name });
        const shown = push.isStale ? order.shop : push.shown;
        const link = order.row && { wanted: order.row.wanted, isHeld: order.row.isHeld };
        const now: Push = { of, at: 'leased', copy, link, isStale: false, shown, wasHeldBack: order.isHeldBack };
        add(`${name} takes the lease of order ${of}`, withRun(leased, name, { push: now }));
        return;
      }
      case 'leased': {
        const { removals, isAllowed, isEmptied } = decide(order, run, push);
        const isDeletion = push.copy === 'deleted';
        const wasHeld = push.link?.isHeld ?? false;
        if (isDeletion && !isAllowed && wasHeld) {
          add(`${name} keeps the deletion of order ${of} held back`, end());
          return;
        }
        const count = isAllowed ? removals : 0;
        const subs = isDeletion ? (isAllowed ? null : order.subs) : sentTo(order.subs, push.copy, isAllowed);
        const sent = withOrder(state, of, { subs });
        const judged = count > 0 ? judgeRemoval(sent, name, { ...push, count }) : sent;
        const what = `${name} sends order ${of}${count > 0 ? `, removes ${count}` : ''}`;
        if (state.faultsLeft > 0 && scenario.faults?.includes('lost run'))
          fault(`${what}, and is lost before it records that`, lostRun(judged, name));
        if (state.faultsLeft > 0 && scenario.faults?.includes('error'))
          fault(`the push of order ${of} by ${name} ends in an error`, failedPush(state, name, push));
        // The orders are alike: one of them is enough.
        if (of === 0 && state.faultsLeft > 0 && scenario.faults?.includes('refused'))
          fault(`the service refuses order ${of} of ${name}`, refusedPush(state, name, push));
        if (isDeletion && isAllowed) {
          const forgotten = withOrder(judged, of, { row: null, lease: null, isHeldBack: false });
          add(`${what} and forgets it`, withRun(forgotten, name, { push: null }));
          return;
        }
        const wanted = isAllowed ? 0 : removals;
        const heldByPush = wanted > 0 && (isEmptied || (wasHeld && design.heldStaysHeld));
        const heldSince = wanted > 0 && (order.row?.isHeld ?? false) && design.holdOutlastsPush && design.heldStaysHeld;
        const isHeld = heldByPush || heldSince;
        const recordedRow: Row = {
          pushed: isDeletion ? null : push.copy,
          wanted,
          isHeld,
          run: wanted > 0 ? name : null,
          hasDeadLetter: isHeld,
          isRetryDue: false,
        };
        const absence = order.absence && { ...order.absence, isPushedSince: true };
        const isHeldBack = wanted > 0 && (order.isHeldBack || isHeld);
        const recorded = withOrder(judged, of, { row: recordedRow, absence, isHeldBack, lease: null });
        const runs = mapRuns(recorded.runs, (one, oneName) =>
          oneName === name ? { ...one, push: null, noted: replaced(one.noted, of, wanted) } : noticed(one, of),
        );
        add(`${what} and records it${wanted > 0 ? `: ${wanted} to remove` : ''}`, { ...recorded, runs });
        return;
      }
      default:
        push.at satisfies never;
    }
  }

  /** As `mayRemove` and `difference` in push-order.ts. */
  function decide({ subs }: Order, run: Run, { copy, link }: Push) {
    const removals = copy === 'deleted' ? 1 : Math.max(0, (subs ?? 0) - (copy as number));
    const isEmptied = copy === 0 && design.keepsEmptiedOrder;
    const isApproved = run.at === 'removing' && (!link?.isHeld || !design.heldIsNotApproved);
    const isCounted = !design.removesOnlyWhatWasCounted || removals <= (link?.wanted ?? 0);
    const isUsual = design.countsBeforeRemoving ? isApproved && isCounted : !isFarMore(removals);
    const isAllowed = (run.isAllowed && run.at !== 'removing') || (!isEmptied && isUsual);
    return { removals, isAllowed, isEmptied };
  }

  /** Whether a removal keeps the promises. */
  function judgeRemoval(
    state: RemovalState,
    name: RunName,
    { of, count, shown, wasHeldBack }: { of: Which; count: number; shown: Shown; wasHeldBack: boolean },
  ): RemovalState {
    const run = state.runs[name] as Run;
    const { subs } = state.orders[of];
    const removed = run.removed + count;
    const other = name === 'A' ? 'B' : 'A';
    const isOfOther = !run.isAllowed && state.orders[of].row?.run === other;
    const runs = mapRuns(state.runs, (one, oneName) => {
      if (oneName === name) return { ...run, removed };
      return { ...one, isSplit: one.isSplit || isOfOther };
    });
    let broken: Broken | undefined;
    if (!run.isAllowed && isFarMore(removed)) broken = 'tooMany';
    else if (!run.isAllowed && wasHeldBack) broken = 'held';
    else if (!run.isAllowed && shown === 0) broken = 'emptied';
    else if (typeof shown === 'number' && (subs === null || subs < shown)) broken = 'shown';
    return { ...state, runs, broken: state.broken ?? broken ?? null };
  }

  function planStep(state: RemovalState, name: RunName, run: Run, add: Add): void {
    const isMine = ({ row }: Order) =>
      row?.run === name || (row?.run === 'ended' ? design.remembersRemovals : !design.countsOnlyOwn);
    const wanted = both.filter((of) => {
      const { row } = state.orders[of];
      return row !== null && row.wanted > 0 && !row.isHeld && isMine(state.orders[of]);
    });
    const due = run.kind === 'rescan' && design.countsAbsentTogether ? dueOf(state, name).length : 0;
    const removals = wanted.reduce<number>((sum, of) => sum + (state.orders[of].row?.wanted ?? 0), due);
    // What the cursor passes while another run goes on is read once more, by the lookback.
    const isPassed = (of: Which) => run.page.includes(of) && run.isAlone;
    const read = mapOrders(state, (order, of) => (isPassed(of) ? { ...order, isInFeed: false } : order));
    const isUnusualRun = isFarMore(run.noted[0] + run.noted[1]);
    const broken = state.broken ?? (run.isSplit && isUnusualRun && !run.isAllowed ? 'split' : null);
    const counted = { at: 'removing' as const, pushedSince: [] };
    if (!run.isAllowed && isFarMore(removals) && design.countsBeforeRemoving) {
      const held = mapOrders(read, (order, of) =>
        order.row && wanted.includes(of)
          ? { ...order, row: { ...order.row, isHeld: true, run: name, hasDeadLetter: true }, isHeldBack: true }
          : order,
      );
      add(`${name} counts ${removals}, and holds them back`, {
        ...withRun(held, name, { ...counted, left: [] }),
        broken,
      });
    } else
      add(`${name} counts ${removals} to remove`, { ...withRun(read, name, { ...counted, left: wanted }), broken });
  }

  const dueOf = ({ orders }: RemovalState, name: RunName): Which[] =>
    both.filter((of) => orders[of].absence?.run === name && orders[of].absence?.isDue);

  /** The end of a rescan, as `removeAbsentOrders`; a sync ends at once. */
  function absentStep(state: RemovalState, name: RunName, run: Run, add: Add): void {
    const due = run.kind === 'rescan' ? dueOf(state, name) : [];
    const isMissed = (of: Which) => state.orders[of].absence?.run === name;
    const heldByRun = both.reduce<number>((sum, of) => {
      const { row } = state.orders[of];
      return sum + (row?.isHeld && row.run === name ? row.wanted : 0);
    }, 0);
    const missed = both.filter(isMissed).length;
    const together = missed + (design.countsAbsentTogether ? heldByRun : 0);
    const isEverything = both.every((of) => state.orders[of].row === null || isMissed(of));
    if (due.length > 0 && !run.isAllowed && (isFarMore(together) || isEverything)) {
      conclude(state, name, run, { isIncomplete: true }, add);
      return;
    }
    if (due.length === 0) {
      conclude(state, name, run, { isIncomplete: false }, add);
      return;
    }
    const isEarly = due.some((of) => !state.orders[of].absence?.isOld || state.orders[of].absence?.isOverdrawn);
    const deleting = withRun(state, name, { at: 'deleting', left: due });
    add(`${name} goes on with absent orders`, { ...deleting, broken: state.broken ?? (isEarly ? 'early' : null) });
  }

  /** Deletes one order under its lease, unless the shop shows it again. */
  function deleteStep(state: RemovalState, name: RunName, run: Run, of: Which, add: Add): void {
    const order = state.orders[of];
    const left = run.left.filter((one) => one !== of);
    if (order.lease !== null) {
      add(`${name} leaves out order ${of}: it is pushed`, withRun(state, name, { left }));
      return;
    }
    if (order.row === null || (order.shop !== 'gone' && design.asksShopBeforeDeleting)) {
      add(`${name} sees order ${of} again`, withRun(withOrder(state, of, { absence: null }), name, { left }));
      return;
    }
    const gone = { subs: null, row: null, absence: null, isHeldBack: false };
    const deleted = withRun(withOrder(state, of, gone), name, { left });
    const what = { of, count: 1, shown: order.shop, wasHeldBack: false };
    add(`${name} deletes order ${of}, which is gone`, judgeRemoval(deleted, name, what));
  }

  function conclude(state: RemovalState, name: RunName, run: Run, end: { isIncomplete: boolean }, add: Add): void {
    const isDone = !end.isIncomplete && both.every((of) => !state.orders[of].row?.hasDeadLetter);
    const isWrong = isDone && run.isAlone && both.some((of) => isBehind(state.orders[of]));
    const broken = state.broken ?? (isWrong ? 'done' : null);
    add(`${name} ends ${isDone ? 'done' : 'incomplete'}`, { ...ended(state, name), broken });
  }

  /** A change that the run should have carried out. Orders that are gone wait for rescans, undated changes as well. */
  const isBehind = ({ shop, isInFeed, row, lease, ...order }: Order): boolean =>
    shop !== 'gone' &&
    lease === null &&
    (isInFeed || row?.pushed === shop || row?.pushed === null) &&
    !isInLine({ shop, ...order });

  const noteAbsent = (state: RemovalState, name: RunName, of: Which): RemovalState => {
    const { row, absence } = state.orders[of];
    if (row === null) return state;
    const begun = absence?.isPushedSince && design.returnEndsAbsence ? null : absence;
    const isOld = begun?.isOld ?? false;
    const isDue = isOld || !design.waitsADay;
    const isOverdrawn = begun !== null && (begun.isPushedSince || begun.isOverdrawn);
    return withOrder(state, of, { absence: { run: name, isOld, isDue, isPushedSince: false, isOverdrawn } });
  };

  const forgetVanished = (state: RemovalState, of: Which): RemovalState => {
    const { row } = state.orders[of];
    if (row === null) return state;
    const isHeld = row.isHeld && !design.vanishedIsNotHeld;
    return withOrder(state, of, {
      row: { ...row, pushed: null, wanted: 0, isHeld, hasDeadLetter: false, isRetryDue: false },
      isHeldBack: false,
    });
  };

  /** Nothing goes on, and the service has what the shop has. */
  function isSettled(state: RemovalState): boolean {
    if (state.runs.A || state.runs.B) return false;
    return state.orders.every((order) => {
      const { row, shop, isInFeed } = order;
      const waitsForRescan =
        !isInFeed && !row?.hasDeadLetter && row?.pushed !== shop && !scenario.kinds.includes('rescan');
      const isNamed = row?.isHeld === true && !scenario.mayAllow;
      return isInLine(order) || isNamed || waitsForRescan || shop === 'gone';
    });
  }

  return {
    initial,
    next,
    key,
    invariants: {
      ...Object.fromEntries(
        Object.entries(promises).map(([name, promise]) => [promise, ({ broken }: RemovalState) => broken !== name]),
      ),
      'what is held back is an open dead letter that --allow-removals finds': ({ orders }) =>
        orders.every(({ row }) => !row?.isHeld || (row.wanted > 0 && row.hasDeadLetter)),
    },
    goal: {
      name: 'the service gets what the shop has, or what is left is held back and named',
      isReached: isSettled,
    },
    probes: {
      'removals are held back': ({ orders }) => orders.some(({ row }) => row?.isHeld),
      'an order is held back and its lines are back': ({ orders }) =>
        orders.some(({ row, shop, subs }) => row?.isHeld && shop === subs),
      'two runs hold copies of one order': ({ runs }) =>
        runs.A?.push !== undefined && runs.A?.push !== null && runs.A.push.of === runs.B?.push?.of,
      'a run removes what was allowed': ({ runs }) =>
        names.some((name) => runs[name]?.isAllowed && runs[name].removed > 1),
      'a run removes what is usual': ({ runs }) => names.some((name) => runs[name]?.removed === 1),
      'a removal is noted and its run is lost': ({ orders }) =>
        orders.some(({ row }) => row?.run === 'ended' && row.wanted > 0 && !row.isHeld),
      'an order is held back while another run pushes it': ({ orders, runs }) =>
        names.some((name) => {
          const push = runs[name]?.push;
          return push?.at === 'leased' && orders[push.of].row?.isHeld && push.link?.isHeld === false;
        }),
      'an order that is held back was refused': ({ orders }) => orders.some(({ row }) => row?.isHeld && row.isRetryDue),
      'an order is absent and due': ({ orders }) => orders.some(({ absence }) => absence?.isDue),
      'an absent order has returned': ({ orders }) => orders.some(({ absence, shop }) => absence && shop !== 'gone'),
      'an order is deleted because it is gone': ({ orders }) =>
        orders.some(({ shop, subs, row }) => shop === 'gone' && subs === null && row === null),
    },
  };
}

const isInLine = ({ shop, subs }: Pick<Order, 'shop' | 'subs'>): boolean =>
  shop === 'deleted' ? subs === null : subs === shop;

/** What is at the service after a push of so many lines. */
const sentTo = (subs: number | null, lines: Shown, mayRemove: boolean): number =>
  mayRemove ? (lines as number) : Math.max(subs ?? 0, lines as number);

/** What the shop would show if it lacked so many lines, or the order. */
const lessBy = ({ row, subs }: Order, wanted: number): Shown =>
  row?.pushed === null ? 'deleted' : (((subs ?? 0) - wanted) as Shown);

const replaced = (pair: readonly [number, number], of: Which, value: number): [number, number] =>
  of === 0 ? [value, pair[1]] : [pair[0], value];
const withOrder = (state: RemovalState, of: Which, change: Partial<Order>): RemovalState =>
  mapOrders(state, (order, one) => (one === of ? { ...order, ...change } : order));
const mapOrders = (state: RemovalState, change: (order: Order, of: Which) => Order): RemovalState => ({
  ...state,
  orders: [change(state.orders[0], 0), change(state.orders[1], 1)],
});
const mapRuns = ({ A, B }: RemovalState['runs'], change: (run: Run, name: RunName) => Run): RemovalState['runs'] => ({
  A: A && change(A, 'A'),
  B: B && change(B, 'B'),
});
const withRun = (state: RemovalState, name: RunName, change: Partial<Run>): RemovalState => ({
  ...state,
  runs: mapRuns(state.runs, (run, one) => (one === name ? { ...run, ...change } : run)),
});

/** Another run has pushed the order since this one has read or counted it. */
function noticed(run: Run, of: Which): Run {
  const { push, at, pushedSince } = run;
  return {
    ...run,
    ...(push?.of === of && { push: { ...push, isStale: true } }),
    ...(at !== 'pushing' && !pushedSince.includes(of) && { pushedSince: [...pushedSince, of].sort() }),
  };
}

/** The run is over: what it noted is everybody's. */
function ended(state: RemovalState, name: RunName): RemovalState {
  const orders = mapOrders(state, (order) => ({
    ...order,
    row: order.row && { ...order.row, run: order.row.run === name ? 'ended' : order.row.run },
    absence: order.absence && { ...order.absence, run: order.absence.run === name ? 'ended' : order.absence.run },
  }));
  return { ...orders, runs: { ...state.runs, [name]: null } };
}

/** The two runs are alike: swapped, it is the same state. */
function key(state: RemovalState): string {
  const { orders, runs, changesLeft, faultsLeft, daysLeft, broken } = state;
  const text = JSON.stringify([orders, runs.A, runs.B, changesLeft, faultsLeft, daysLeft, broken]);
  if (runs.A === null && runs.B === null) return text;
  const swap = (name: string | null) => (name === 'A' ? 'B' : name === 'B' ? 'A' : name);
  const swapped = orders.map((order) => ({
    ...order,
    row: order.row && { ...order.row, run: swap(order.row.run) },
    lease: swap(order.lease),
    absence: order.absence && { ...order.absence, run: swap(order.absence.run) },
  }));
  const other = JSON.stringify([swapped, runs.B, runs.A, changesLeft, faultsLeft, daysLeft, broken]);
  return text < other ? text : other;
}
