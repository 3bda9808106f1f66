/**
 * The recording of what real code did with one review, and its judgement by the review model. The harness makes
 * recordings (test/harness/trace-reviews.ts); a test may also forge one.
 */
import { type Explanation, explain } from './explain.ts';
import {
  type Axis,
  type Kind,
  type OfAxis,
  type ReviewEvent,
  type ReviewState,
  reviewModel,
  type Tick,
  type Ticks,
} from './reviews.ts';

/**
 * A version is the tick of its date; null: the review is gone from the service. `asked`: its response to a request for
 * the review by its id. `isSuspect`: whether the review is suspected gone after the commit, `by` the kind of the run.
 * `past`: ticks that were over, as far as may count as covered, when the reading began.
 */
export type RecordedEvent =
  | { kind: 'listed'; axis: Axis; version: Tick }
  | { kind: 'landed'; version: Tick }
  | { kind: 'entered'; axis: Axis; covers: Ticks; past: Tick; by?: Kind | undefined; isSuspect?: boolean }
  | { kind: 'asked'; isFound: boolean }
  /** It is suspected, and no coverage was entered with that. */
  | { kind: 'suspected' }
  | { kind: 'cleared' | 'marked' }
  | { kind: 'gaps'; gaps: OfAxis }
  /** The first tick that the next run reads. */
  | { kind: 'cursor'; at: Tick }
  | { kind: 'service'; version: Tick | null };

export type ReviewRecording = {
  /** The runs that may have been at work; syncs and backfills unless given. */
  kinds?: readonly Kind[] | undefined;
  /** How many ticks there are: the dates at which the review was written and changed. */
  ticks: number;
  created: Tick;
  /** What lists show at the beginning, null where they do not show the review, and its newest version in the end. */
  listed: Tick | null;
  version: Tick;
  begin: { row: Tick | null; cursor: Tick | null; gaps: OfAxis; now: Tick };
  events: readonly RecordedEvent[];
};

/** Whether the model explains what was recorded of one review. */
export function judgeReview(recording: ReviewRecording): Explanation<ReviewState, RecordedEvent> {
  const { ticks, created, listed, version, begin, events } = recording;
  const { row, cursor, gaps, now } = begin;
  const { kinds = ['sync', 'backfill'] } = recording;
  const deletions = kinds.includes('reconcile') ? Number.MAX_SAFE_INTEGER : 0;
  const left = { writes: 0, edits: 0, deletions, faults: Number.MAX_SAFE_INTEGER };
  const updated = (listed === null ? 0 : 1 << listed) | (1 << version);
  const model = reviewModel({
    kinds,
    existing: [created],
    faults: ['crash', 'window', 'short list', 'lost run', 'no response'],
    lastTick: ticks,
    // The cursor is given as the tick from which the next run reads.
    overlap: 0,
    // Nothing is written in the model: what lists show is recorded.
    datesBehind: ticks + 1,
    traced: { relevant: { created: 1 << created, updated } },
    begin: {
      now,
      reviews: [{ created, version, listed, isLate: false, isHidden: false }],
      rows: [row === null ? null : { version: row, isDeleted: false }],
      cursor,
      gaps,
      left,
    },
  });
  // How many faults have happened would make two states of what is one.
  const next = (state: ReviewState) => model.next(state).map((step) => ({ ...step, state: { ...step.state, left } }));
  // A reconcile asks by id also for reviews that are there, to see whether the service knows any.
  const mayBeIdle = ({ kind }: RecordedEvent) => kind === 'listed' || kind === 'asked';
  return explain({ ...model, next }, { events, known: {}, matches, mayBeIdle });
}

function matches(
  { observed, state }: { observed: ReviewEvent; state: ReviewState },
  recorded: RecordedEvent,
  known: object,
): object | undefined {
  return isMatch(observed, state, recorded) ? known : undefined;
}

function isMatch(observed: ReviewEvent, state: ReviewState, recorded: RecordedEvent): boolean {
  switch (recorded.kind) {
    case 'listed':
      return observed.kind === 'listed' && observed.axis === recorded.axis && observed.version === recorded.version;
    case 'landed':
      return observed.kind === 'landed' && observed.version === recorded.version;
    case 'entered': {
      const { axis, covers, past, by = observed.kind === 'entered' && observed.by, isSuspect } = recorded;
      const isSame = observed.kind === 'entered' && observed.axis === axis && observed.covers === covers;
      const isSuspected = state.suspects[0] === true;
      return isSame && observed.by === by && (isSuspect ?? isSuspected) === isSuspected && state.now <= past;
    }
    case 'gaps': {
      const { created, updated } = recorded.gaps;
      return observed.kind === 'gaps' && state.gaps.created === created && state.gaps.updated === updated;
    }
    case 'cursor':
      return observed.kind === 'cursor' && state.cursor === recorded.at;
    case 'service': {
      const [review] = state.reviews;
      if (observed.kind !== 'service') return false;
      return recorded.version === null ? review?.version === null : review?.listed === recorded.version;
    }
    case 'asked':
      return observed.kind === 'asked' && observed.isFound === recorded.isFound;
    case 'suspected':
      return false;
    case 'cleared':
    case 'marked':
      return observed.kind === recorded.kind;
    default:
      return recorded satisfies never;
  }
}
