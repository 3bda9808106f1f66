/**
 * The protocol "watermark, coverage, reconcile": how the reviews of the service get into the warehouse, as
 * src/reviews/plan-sync-reviews.ts, reconcile.ts, plan-backfill-reviews.ts and export-window.ts do it.
 *
 * The world: a clock of a few ticks, a few reviews at the service, the warehouse, and at most one run of each kind. A
 * run does this, one step an action:
 *
 *     plan ─▶ list a span ─▶ land ─▶ enter (coverage, suspects and gaps in one transaction) ─▶ … ─▶ conclude
 *
 * What is left to read is listed as one span, or its first tick before or after the others: so something can always
 * move between what was read and what was not. One list response shows the service at one moment. A version of a review
 * is the tick of its last change.
 *
 * What the model assumes, because the code cannot enforce it:
 *
 * - A review that is listed later than the overlap after its date is found by reconcile, not by the next sync.
 * - A deleted review does not return under its id between the 404 and the mark.
 */
import type { Model, Step } from './check.ts';

/** What keeps the promises. Each can be taken away, and then the checker finds the defect that it was built against. */
export const reviewDesign = {
  /** The watermark follows the dates of the reviews, not the time. */
  watermarkFollowsData: true,
  /** What failed is an open gap before the watermark moves. */
  failedWindowIsOpenGap: true,
  /** The watermark moves although a window failed. */
  failureDelaysNothingElse: true,
  /** The next run reads from before the watermark. */
  readsOverlap: true,
  /** A span enters the ledger only once it is proven that the list has shown all of it. */
  provesBeforeEntering: true,
  /** The seconds in which the reading began do not count as covered. */
  leavesOutJustNow: true,
  /** Suspects enter in the transaction of the coverage. */
  suspectsWithCoverage: true,
  /** A suspect that could not be asked about stays one. */
  keepsUnansweredSuspects: true,
  /** Deleted is what the service does not know by its id. */
  asksById: true,
  /** An older version never overwrites a newer one, unless that is marked deleted. */
  newestVersionWins: true,
  /** Any version replaces a row that is marked deleted. */
  deletedRowsAreReplaced: true,
  /** A backfill goes on where an unfinished one stopped, and otherwise reads everything again. */
  continuesOnlyUnfinished: true,
  /** The bounds of a backfill come from the list as well, since the overview may be old. */
  boundsFromList: true,
  /**
   * A backfill of everything closes only gaps that were open before its first reading, also where it goes on with an
   * interrupted one.
   */
  closesOnlyGapsReadSince: true,
  /** A gap ends with the present: what is written from now on is not part of it. */
  gapsEndWithThePresent: true,
};
export type ReviewDesign = typeof reviewDesign;

export type Tick = number;
/** A set of ticks, one bit each. */
export type Ticks = number;
const has = (ticks: Ticks, tick: Tick): boolean => (ticks & (1 << tick)) !== 0;
const between = (start: Tick, end: Tick): Ticks =>
  end <= start ? 0 : ((1 << end) - 1) & ~((1 << Math.max(0, start)) - 1);

export type Kind = 'sync' | 'reconcile' | 'backfill';
export type Axis = 'created' | 'updated';
export type OfAxis = Record<Axis, Ticks>;

export type ReviewScenario = {
  kinds: readonly Kind[];
  /** Dates of the reviews that exist when the exploration begins. */
  existing: readonly Tick[];
  /** Reviews that may be written. */
  mayBeWritten?: number;
  mayBeEdited?: number;
  mayBeDeleted?: number;
  faults?: readonly Fault[];
  faultsAtMost?: number;
  /** How far before the watermark a sync reads, in ticks; 1 unless given. */
  overlap?: Tick;
  /** The clock that dates reviews is so many ticks behind the one that the service tells. */
  datesBehind?: number;
  /** Nothing changes at the last tick (3 unless given), so that everything before it can be proven. */
  lastTick?: Tick;
  /** The warehouse has all of it when the exploration begins. */
  isSynced?: boolean;
  /** Where the exploration begins in the middle of things. */
  begin?: Partial<ReviewState>;
  /** A tick that the service refuses to list, on either axis. */
  refused?: Tick;
};

type Fault =
  | 'late'
  | 'window'
  | 'short list'
  | 'crash'
  | 'lost run'
  | 'hidden'
  | 'restored'
  | 'no response'
  | 'old overview';

export type Review = {
  created: Tick;
  /** The newest version; null: deleted. */
  version: Tick | null;
  /** The version that lists show; null: none. */
  listed: Tick | null;
  /** The listed version was listed later than the overlap after its date. */
  isLate: boolean;
  isHidden: boolean;
};
export type Row = { version: Tick; isDeleted: boolean };
/**
 * `covers`: the part of `span` that was over when it was listed. `seen`: the version of each review that was shown.
 * `isWhole`: all of them were shown.
 */
type Reading = { axis: Axis; span: Ticks; covers: Ticks; seen: (Tick | null)[]; isWhole: boolean; hasLanded: boolean };
type Run = {
  /** What is still to be read, and, of a sync, what is not proven. */
  todo: OfAxis;
  unproven: OfAxis;
  reading: Reading | null;
  hasFailed: boolean;
  nextWatermark: Tick;
  readTo: Tick;
  /** What was not proven is an open gap. */
  areGapsOpen: boolean;
  /** Of a reconcile: what the service said about a suspected review, which is not written yet. */
  asked: { review: number; isGone: boolean } | null;
};

export type ReviewState = {
  now: Tick;
  reviews: Review[];
  /** warehouse.reviews, by the same index. */
  rows: (Row | null)[];
  cursor: Tick | null;
  gaps: OfAxis;
  /** Coverage of the created axis: by reconcile within its period, and by a backfill that is not finished. */
  reconciled: Ticks;
  backfilled: Ticks | null;
  /** Gaps of the updated axis that a backfill closes when it is done. */
  closing: Ticks;
  suspects: boolean[];
  runs: Partial<Record<Kind, Run>>;
  left: { writes: number; edits: number; deletions: number; faults: number };
  /** For the invariants only: a covered span did not show the row; the versions that a backfill has to bring. */
  wasMissed: boolean[];
  owed: (Tick | null)[];
  broken: string | null;
};

/** A watermark that is older than this says that nothing happens at the service. */
const quiet = 3;

const listedDates = (reviews: readonly Review[], axis: Axis): Tick[] =>
  reviews.flatMap((review) => (review.listed === null ? [] : [axis === 'created' ? review.created : review.listed]));

export function reviewModel(scenario: ReviewScenario, changed: Partial<ReviewDesign> = {}): Model<ReviewState> {
  const design: ReviewDesign = { ...reviewDesign, ...changed };
  const none: OfAxis = { created: 0, updated: 0 };
  const { lastTick = 3, overlap = 1 } = scenario;
  const existing = scenario.existing.map(
    (at): Review => ({ created: at, version: at, listed: at, isLate: false, isHidden: false }),
  );

  const initial: ReviewState = {
    now: Math.max(0, ...scenario.existing),
    reviews: existing,
    rows: scenario.existing.map((at) => (scenario.isSynced ? { version: at, isDeleted: false } : null)),
    cursor: scenario.isSynced ? Math.max(...scenario.existing) : null,
    gaps: none,
    reconciled: 0,
    backfilled: null,
    closing: 0,
    suspects: existing.map(() => false),
    runs: {},
    left: {
      writes: scenario.mayBeWritten ?? 0,
      edits: scenario.mayBeEdited ?? 0,
      deletions: scenario.mayBeDeleted ?? 0,
      faults: scenario.faultsAtMost ?? 0,
    },
    wasMissed: existing.map(() => false),
    owed: existing.map(() => null),
    broken: null,
    ...scenario.begin,
  };

  type Add = (action: string, change: Partial<ReviewState>) => void;

  function next(state: ReviewState): Step<ReviewState>[] {
    const steps: Step<ReviewState>[] = [];
    const add: Add = (action, change) => steps.push({ action, state: { ...state, ...change } });
    const change: AddChange = (action, kind, to) => {
      if (state.left[kind] === 0) return;
      const left = { ...state.left, [kind]: state.left[kind] - 1 };
      steps.push({ action, state: { ...state, left, ...to }, isFault: true });
    };
    const fault: AddFault = (kind, action, to) => {
      if (state.left.faults === 0 || !scenario.faults?.includes(kind)) return;
      const left = { ...(to.left ?? state.left), faults: state.left.faults - 1 };
      steps.push({ action, state: { ...state, ...to, left }, isFault: true });
    };
    serviceSteps(state, add, change, fault);
    for (const kind of scenario.kinds) {
      const run = state.runs[kind];
      if (!run) planSteps(state, kind, add, fault);
      else runSteps(state, kind, run, add, fault);
    }
    return steps;
  }

  type AddChange = (action: string, kind: 'writes' | 'edits' | 'deletions', to: Partial<ReviewState>) => void;
  type AddFault = (kind: Fault, action: string, to: Partial<ReviewState>) => void;

  function serviceSteps(state: ReviewState, add: Add, change: AddChange, fault: AddFault): void {
    const { now, reviews, left } = state;
    if (now < lastTick) add('time passes', { now: now + 1 });
    // What a month brings: reconcile reads everything again.
    if (state.reconciled !== 0) add('a month passes', { reconciled: 0 });
    const date = now - (scenario.datesBehind ?? 0);
    const isOver = now === lastTick || date < 0;
    if (!isOver) {
      const review: Review = { created: date, version: date, listed: date, isLate: false, isHidden: false };
      const grown = {
        rows: [...state.rows, null],
        suspects: [...state.suspects, false],
        wasMissed: [...state.wasMissed, false],
        owed: [...state.owed, null],
      };
      const isCovered = has(state.reconciled | (state.backfilled ?? 0), date) && scenario.datesBehind === undefined;
      const broken = isCovered ? 'covered' : state.broken;
      change(`review ${reviews.length} is written`, 'writes', { ...grown, broken, reviews: [...reviews, review] });
      if (left.writes > 0) {
        const late = { ...left, writes: left.writes - 1 };
        const unlisted = [...reviews, { ...review, listed: null }];
        fault('late', `review ${reviews.length} is written, and not yet listed`, {
          ...grown,
          reviews: unlisted,
          left: late,
        });
      }
    }
    for (const [index, review] of reviews.entries()) {
      const put = (to: Partial<Review>) => ({ reviews: reviews.with(index, { ...review, ...to }) });
      if (review.version === null) {
        const first = put({ version: review.created, listed: review.created });
        // Restored before it is marked, it is a version whose date went back: `verify` shows that, and a person
        // decides.
        if (state.rows[index]?.isDeleted) fault('restored', `review ${index} is restored as it was written`, first);
        continue;
      }
      if (!isOver && review.version < date && review.listed === review.version) {
        change(`review ${index} is edited`, 'edits', put({ version: date, listed: date, isLate: false }));
        if (left.edits > 0) {
          const late = { ...left, edits: left.edits - 1 };
          fault('late', `review ${index} is edited, and listed as before`, { ...put({ version: date }), left: late });
        }
      }
      if (review.listed !== review.version && !review.isHidden) {
        const isLate = now - review.version > overlap + (scenario.datesBehind ?? 0);
        const shown = put({ listed: review.version, isLate });
        add(`the list shows the newest version of review ${index}`, shown);
      }
      if (now === lastTick) continue;
      const owed = state.owed.with(index, null);
      const deleted = { ...put({ version: null, listed: null }), owed };
      change(`review ${index} is deleted`, 'deletions', deleted);
      if (!review.isHidden)
        fault('hidden', `review ${index} is hidden from the lists`, { ...put({ listed: null, isHidden: true }), owed });
    }
  }

  function planSteps(state: ReviewState, kind: Kind, add: Add, fault: AddFault): void {
    const { now, reviews, gaps } = state;
    const begin = (action: string, plan: Partial<Run>, to: Partial<ReviewState> = {}, faulty?: Fault) => {
      const todo = plan.todo ?? none;
      const begun: Run = {
        unproven: kind === 'sync' ? todo : none,
        reading: null,
        hasFailed: false,
        nextWatermark: 0,
        readTo: 0,
        areGapsOpen: false,
        asked: null,
        ...plan,
        todo,
      };
      const change = { ...to, runs: { ...state.runs, [kind]: begun } };
      if (faulty) fault(faulty, action, change);
      else add(action, change);
    };
    switch (kind) {
      case 'sync': {
        const newest = Math.max(-1, ...listedDates(reviews, 'updated'));
        const { cursor } = state;
        const plan = (withGaps: boolean): Partial<Run> => {
          const nextWatermark = design.watermarkFollowsData ? Math.min(now, Math.max(now - quiet, newest)) : now;
          const start = (cursor ?? 0) - (design.readsOverlap ? overlap : 0);
          const known = between(start, lastTick + 1) & ~gaps.updated;
          const todo = cursor === null ? { created: boundsOf(reviews), updated: 0 } : { created: 0, updated: known };
          const again = withGaps ? gaps : none;
          const all = { created: todo.created | again.created, updated: todo.updated | again.updated };
          return { todo: all, nextWatermark, readTo: now };
        };
        begin('sync begins', plan(true));
        if (gaps.created + gaps.updated > 0) begin('sync begins; the gaps are not due', plan(false));
        return;
      }
      case 'reconcile': {
        const held = reviews
          .filter((_, index) => state.rows[index]?.isDeleted === false)
          .map((review) => review.created);
        const spans = boundsOf(reviews, held);
        const older = state.reconciled & between(0, now - 1);
        begin('reconcile begins', { todo: { created: (spans & ~older) | gaps.created, updated: 0 } });
        return;
      }
      case 'backfill': {
        const isNew = state.backfilled === null;
        const covered = isNew ? 0 : (state.backfilled ?? 0);
        const owed = isNew ? reviews.map((review) => review.listed) : state.owed;
        const plan = (bounds: Ticks) => ({ todo: { created: bounds & ~covered, updated: 0 } });
        const closing = isNew || !design.closesOnlyGapsReadSince ? gaps.updated : state.closing;
        const begun = { backfilled: covered, owed, closing };
        begin('backfill begins', plan(boundsOf(reviews)), begun);
        const old = boundsOf(reviews.slice(0, scenario.existing.length));
        const oldBounds = design.boundsFromList ? boundsOf(reviews) : old;
        begin('backfill begins; the overview is old', plan(oldBounds), begun, 'old overview');
        return;
      }
      default:
        kind satisfies never;
    }
  }

  /** From the first to the last review that the service lists, and the dates given. */
  function boundsOf(reviews: readonly Review[], more: readonly Tick[] = []): Ticks {
    const dates = [...listedDates(reviews, 'created'), ...more];
    return dates.length === 0 ? 0 : between(Math.min(...dates), Math.max(...dates) + 1);
  }

  function runSteps(state: ReviewState, kind: Kind, run: Run, add: Add, fault: AddFault): void {
    const become = (to: Partial<Run>): Pick<ReviewState, 'runs'> => ({
      runs: { ...state.runs, [kind]: { ...run, ...to } },
    });
    const { [kind]: _, ...others } = state.runs;
    fault('lost run', `the queue loses the run of ${kind}`, { runs: others });
    const { reading } = run;
    if (reading) {
      const again = { ...run.todo, [reading.axis]: run.todo[reading.axis] | reading.span };
      fault('crash', `the worker of ${kind} dies, and its step is done again`, become({ reading: null, todo: again }));
      if (!reading.hasLanded) {
        const after = landed(state, reading);
        add(`${kind} lands what it has seen`, { ...after, ...become({ reading: { ...reading, hasLanded: true } }) });
      } else enterSteps(state, kind, run, reading, add);
      return;
    }
    if (run.todo.created + run.todo.updated === 0) {
      concludingSteps(state, kind, run, add, fault);
      return;
    }
    fault('window', `the other windows of ${kind} fail`, become({ todo: none, hasFailed: true }));
    const axis = run.todo.created === 0 ? 'updated' : 'created';
    const todo = run.todo[axis];
    if (scenario.refused !== undefined && has(todo, scenario.refused)) {
      const refused = 1 << scenario.refused;
      const gaps = { ...state.gaps, [axis]: state.gaps[axis] | past(state, refused) };
      const failed = become({ todo: { ...run.todo, [axis]: todo & ~refused }, hasFailed: true });
      add(`${kind} is refused ${axis} tick ${scenario.refused}`, { ...failed, gaps });
      return;
    }
    const first = todo & -todo;
    for (const span of new Set([todo, first, todo & ~first])) {
      if (span === 0) continue;
      const listed = state.reviews.map((review) => (has(span, dateOf(review, axis)) ? review.listed : null));
      const covers = design.leavesOutJustNow ? span & between(0, state.now) : span;
      const reads = (seen: typeof listed, isWhole: boolean): Pick<ReviewState, 'runs'> =>
        become({
          todo: { ...run.todo, [axis]: todo & ~span },
          reading: { axis, span, covers, seen, isWhole, hasLanded: false },
        });
      const shown = listed.findIndex((version) => version !== null);
      const action = `${kind} lists the reviews ${axis} at ${show(span)}`;
      add(action, reads(listed, true));
      if (shown >= 0)
        fault('short list', `${action} and is not shown review ${shown}`, reads(listed.with(shown, null), false));
    }
  }

  /** What a gap may cover. */
  const past = ({ now }: ReviewState, span: Ticks): Ticks =>
    design.gapsEndWithThePresent ? span & between(0, now + 1) : span;

  /** The date of what lists show; the review must be listed. */
  const dateOf = ({ listed, created }: Review, axis: Axis): Tick =>
    listed === null ? 31 : axis === 'created' ? created : listed;
  const show = (span: Ticks): string => `ticks ${[0, 1, 2, 3].filter((tick) => has(span, tick)).join()}`;

  function landed(
    state: ReviewState,
    { seen }: Reading,
  ): Pick<ReviewState, 'rows' | 'broken' | 'suspects' | 'wasMissed'> {
    const rows = state.rows.map((row, index): Row | null => {
      const version = seen[index] ?? null;
      if (version === null) return row;
      const isReplaced = !design.newestVersionWins || (design.deletedRowsAreReplaced && row?.isDeleted);
      return { version: isReplaced ? version : Math.max(version, row?.version ?? 0), isDeleted: false };
    });
    const isSeen = (index: number) => (seen[index] ?? null) !== null;
    const isOlder = rows.some((row, index) => {
      const before = state.rows[index];
      return before?.isDeleted === false && (row?.version ?? 0) < before.version;
    });
    return {
      rows,
      broken: isOlder ? 'older' : state.broken,
      suspects: state.suspects.map((one, index) => one && !isSeen(index)),
      wasMissed: state.wasMissed.map((one, index) => one && !isSeen(index)),
    };
  }

  /** Coverage, suspects and gaps, in one transaction. */
  function enterSteps(state: ReviewState, kind: Kind, run: Run, reading: Reading, add: Add): void {
    const { axis, span: read, covers: span, seen, isWhole } = reading;
    const after = (to: Partial<Run>): Pick<ReviewState, 'runs'> => ({
      runs: { ...state.runs, [kind]: { ...run, reading: null, ...to } },
    });
    if (!isWhole && design.provesBeforeEntering) {
      const gaps = { ...state.gaps, [axis]: state.gaps[axis] | past(state, read) };
      add(`${kind} cannot prove what it has read, and opens a gap`, { ...after({ hasFailed: true }), gaps });
      return;
    }
    const isMissed = (row: Row | null, index: number) =>
      kind === 'reconcile' &&
      axis === 'created' &&
      row !== null &&
      !row.isDeleted &&
      has(span, state.reviews[index]?.created ?? 31) &&
      (seen[index] ?? null) === null;
    const entered: Partial<ReviewState> = {
      ...after({ unproven: { ...run.unproven, [axis]: run.unproven[axis] & ~span } }),
      gaps: { ...state.gaps, [axis]: state.gaps[axis] & ~span },
      reconciled: kind === 'reconcile' && axis === 'created' ? state.reconciled | span : state.reconciled,
      backfilled: kind === 'backfill' ? (state.backfilled ?? 0) | span : state.backfilled,
      suspects: state.rows.map(
        (row, index) => state.suspects[index] === true || (design.suspectsWithCoverage && isMissed(row, index)),
      ),
      wasMissed: state.rows.map((row, index) => state.wasMissed[index] === true || isMissed(row, index)),
      broken: isWhole ? state.broken : 'covered',
    };
    add(`${kind} enters ${show(span)}`, entered);
  }

  function concludingSteps(state: ReviewState, kind: Kind, run: Run, add: Add, fault: AddFault): void {
    const { [kind]: _, ...runs } = state.runs;
    switch (kind) {
      case 'sync': {
        if (run.hasFailed && !design.failureDelaysNothingElse) {
          add('sync ends incomplete', { runs });
          return;
        }
        if (!run.areGapsOpen && design.failedWindowIsOpenGap) {
          const missing = (axis: Axis) => run.unproven[axis] & between(0, run.readTo) & ~state.gaps[axis];
          const opened = { created: missing('created'), updated: missing('updated') };
          if (opened.created + opened.updated > 0) {
            const open = { created: state.gaps.created | opened.created, updated: state.gaps.updated | opened.updated };
            const then = { ...state.runs, [kind]: { ...run, areGapsOpen: true } };
            add('sync opens gaps', { runs: then, gaps: open });
            return;
          }
        }
        const cursor = Math.max(state.cursor ?? 0, run.nextWatermark);
        add('sync moves the watermark', { runs, cursor });
        return;
      }
      case 'reconcile': {
        if (run.asked !== null) {
          settlingSteps(state, run, run.asked, add, fault);
          return;
        }
        const suspect = state.suspects.indexOf(true);
        const isAsked = design.failureDelaysNothingElse || !run.hasFailed;
        if (suspect < 0 || !isAsked) {
          add('reconcile ends', { runs });
          return;
        }
        const review = state.reviews[suspect] as Review;
        const asking = (isGone: boolean): Partial<ReviewState> => ({
          runs: { ...state.runs, [kind]: { ...run, asked: { review: suspect, isGone } } },
        });
        const isGone = design.asksById ? review.version === null : review.listed === null;
        add(`reconcile ${isGone ? 'gets 404 for' : 'is shown'} review ${suspect}`, asking(isGone));
        const unanswered = design.keepsUnansweredSuspects ? {} : { suspects: state.suspects.with(suspect, false) };
        fault('no response', `the service does not respond about review ${suspect}; reconcile ends`, {
          ...unanswered,
          runs,
        });
        return;
      }
      case 'backfill': {
        if (run.hasFailed) {
          add('backfill ends incomplete', { runs });
          return;
        }
        const isOwed = state.owed.some(
          (version, index) => version !== null && (state.rows[index]?.version ?? -1) < version,
        );
        add('backfill ends done', {
          runs,
          backfilled: design.continuesOnlyUnfinished ? null : state.backfilled,
          owed: state.owed.map(() => null),
          gaps: { ...state.gaps, updated: state.gaps.updated & ~state.closing },
          closing: 0,
          broken: isOwed ? 'done' : state.broken,
        });
        return;
      }
      default:
        kind satisfies never;
    }
  }

  /** Writes what the service said about a suspected review. */
  function settlingSteps(
    state: ReviewState,
    run: Run,
    asked: NonNullable<Run['asked']>,
    add: Add,
    fault: AddFault,
  ): void {
    const { review: index, isGone } = asked;
    const become = (to: Run['asked']): Pick<ReviewState, 'runs'> => ({
      runs: { ...state.runs, reconcile: { ...run, asked: to } },
    });
    fault('crash', 'the worker of reconcile dies, and asks again', become(null));
    const cleared = { suspects: state.suspects.with(index, false), wasMissed: state.wasMissed.with(index, false) };
    if (!isGone) add(`reconcile suspects review ${index} no longer`, { ...become(null), ...cleared });
    else {
      const row = state.rows[index] as Row;
      const broken = state.reviews[index]?.version === null ? state.broken : 'deleted';
      const rows = state.rows.with(index, { ...row, isDeleted: true });
      add(`reconcile marks review ${index} deleted`, { ...become(null), ...cleared, rows, broken });
    }
  }

  /** No sync will read it, reconcile has no reason to, and nobody knows that it is missing. */
  function isForgotten({ cursor, gaps, rows }: ReviewState, review: Review, index: number): boolean {
    if (cursor === null || review.listed === null || review.isLate) return false;
    if ((rows[index]?.version ?? -1) >= review.listed) return false;
    return review.listed < cursor - overlap && !has(gaps.updated, review.listed) && !has(gaps.created, review.created);
  }

  const isSame = ({ version, created, isHidden, isLate }: Review, row: Row | null | undefined): boolean => {
    if (scenario.refused === created || scenario.refused === version) return true;
    if (isLate && !scenario.kinds.includes('reconcile')) return true;
    if (version === null) return row === null || row?.isDeleted === true;
    return row?.version === version ? !row.isDeleted : isHidden;
  };

  return {
    initial,
    next,
    key,
    invariants: {
      'the watermark is never beyond a review that was not read, unless a gap is open there': (state) =>
        !state.reviews.some((review, index) => isForgotten(state, review, index)),
      'a span is covered only when all of it is in the warehouse': ({ broken }) => broken !== 'covered',
      'a review is marked deleted only when the service does not know it': ({ broken }) => broken !== 'deleted',
      'an older version never overwrites a newer one that is not marked deleted': ({ broken }) => broken !== 'older',
      'a backfill is done only when it has brought all that was there': ({ broken }) => broken !== 'done',
      'what a covered span did not show is suspected until it is found or marked': ({ wasMissed, suspects }) =>
        wasMissed.every((missed, index) => !missed || suspects[index] === true),
      'no gap lies in the future': ({ gaps, now }) => (gaps.updated & ~between(0, now + 1)) === 0,
      'the watermark is never beyond our own clock': ({ cursor, now }) => cursor === null || cursor <= now,
    },
    goal: {
      name: 'the warehouse gets what the service has',
      isReached: ({ reviews, rows, cursor, runs }) =>
        Object.keys(runs).length === 0 &&
        (cursor !== null || !scenario.kinds.includes('sync')) &&
        reviews.every((review, index) => isSame(review, rows[index])),
    },
    probes: {
      'a gap is open behind the watermark': ({ gaps, cursor }) =>
        cursor !== null && (gaps.updated & between(0, cursor)) !== 0,
      'a review is listed later than the overlap': ({ reviews }) => reviews.some((review) => review.isLate),
      'a review was edited after it was listed and before it lands': ({ runs, reviews }) =>
        Object.values(runs).some((run) =>
          run.reading?.seen.some((version, index) => version !== null && version !== reviews[index]?.listed),
        ),
      'a page has landed and its span is not covered': ({ runs }) =>
        Object.values(runs).some((run) => run.reading?.hasLanded),
      'a review is suspected and no run is going': ({ suspects, runs }) =>
        suspects.includes(true) && Object.keys(runs).length === 0,
      'the service has said 404, and the review is not marked yet': ({ runs }) =>
        runs.reconcile?.asked?.isGone === true,
      'two runs have read one review in different versions': ({ runs: { sync, reconcile } }) =>
        (sync?.reading?.seen ?? []).some(
          (version, index) => version !== null && version !== (reconcile?.reading?.seen[index] ?? version),
        ),
    },
  };
}

const valuesOf = (one: object | null | undefined) => one && Object.values(one);

function key({ reviews, rows, gaps, runs, left, ...state }: ReviewState): string {
  const runKeys = [runs.sync, runs.reconcile, runs.backfill].map(
    (run) =>
      run && [
        ...Object.values({ ...run, todo: 0, unproven: 0, reading: 0 }),
        ...[run.todo, run.unproven, run.reading].map(valuesOf),
      ],
  );
  return JSON.stringify([
    Object.values(state),
    reviews.map(valuesOf),
    rows.map(valuesOf),
    valuesOf(gaps),
    valuesOf(left),
    runKeys,
  ]);
}
