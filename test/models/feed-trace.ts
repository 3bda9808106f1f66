/**
 * The recording of what real runs of a shop with a change feed did, and its judgement by the feed model. The harness makes
 * recordings (test/harness/trace-feed.ts); a test may also forge one. Dates are milliseconds since 1970, with microseconds behind the
 * point.
 */
import { type Explanation, explain } from './explain.ts';
import {
  type Clock,
  type FeedEvent,
  type FeedState,
  feedModel,
  type Order,
  type Place,
  type Position,
  type RunName,
} from './feed.ts';

/** What the feed shows of an order, and which version of it the shop has. */
export type ShopOrder = Pick<Order, 'version' | 'date'>;
export type RecordedWalk = { beganAt: number; passed: number };

export type RecordedEvent =
  /** What the shop has now, by code. */
  | { kind: 'shop'; orders: Readonly<Record<string, ShopOrder>> }
  /** A batch is written down with the run's job. `upTo`: where the cursor goes when it has ended. */
  | { kind: 'plan'; run: string; codes: readonly string[]; clock: Clock; upTo: Position | null }
  /** The push of a version is recorded. */
  | { kind: 'push'; code: string; version: number }
  /** A step failed for good. */
  | { kind: 'failed'; run: string }
  | { kind: 'cursor'; at: number; code: string; readTo: number | null }
  | { kind: 'walk'; walk: RecordedWalk | null }
  | { kind: 'end'; run: string; isDone: boolean };

export type FeedRecording = {
  lookbackMinutes: number;
  batchSize: number;
  begin: {
    orders: Readonly<Record<string, ShopOrder>>;
    /** The version of each order that was pushed last; null: none. */
    pushed: Readonly<Record<string, number | null>>;
    cursor: FeedState['cursor'];
    walk: RecordedWalk | null;
  };
  events: readonly RecordedEvent[];
};

/** Whether the model explains the recording: with one run at a time, or else with two. */
export function judgeFeed(recording: FeedRecording): Explanation<FeedState, RecordedEvent> {
  const judged = judgeWith(recording, 1);
  return judged.rejected === undefined ? judged : judgeWith(recording);
}

/** The recorded run that each run of the model stands for. */
type Runs = Partial<Record<RunName, string>>;

function judgeWith({ begin, events, ...world }: FeedRecording, workers?: 1): Explanation<FeedState, RecordedEvent> {
  const codes = Object.keys(begin.orders).sort();
  const ordersOf = (shown: Readonly<Record<string, ShopOrder>>): Order[] =>
    codes.map((code) => {
      const shopOrder = shown[code];
      const rest = { pending: null, isHidden: false, isGone: shopOrder === undefined };
      return { version: shopOrder?.version ?? 0, date: shopOrder?.date ?? 0, ...rest };
    });
  const plans = events.filter((event) => event.kind === 'plan');
  const left = Number.MAX_SAFE_INTEGER;
  const model = feedModel({
    kinds: ['sync'],
    ticks: 0,
    changes: 0,
    faults: ['lost run', 'failed step'],
    faultsAtMost: left,
    ...(workers && { workers }),
    traced: {
      ...world,
      codes,
      begin: {
        orders: ordersOf(begin.orders),
        places: codes.map((code): Place => {
          const pushed = begin.pushed[code] ?? null;
          return { service: pushed, pushed };
        }),
        cursor: begin.cursor,
        walk: begin.walk,
      },
      shop: events.flatMap((event) => (event.kind === 'shop' ? [ordersOf(event.orders)] : [])),
      clocks: [...new Map(plans.map(({ clock }) => [JSON.stringify(clock), clock])).values()],
    },
  });
  // How many faults have happened would make two states of what is one.
  const next = (state: FeedState) =>
    model.next(state).map((step) => ({ ...step, state: { ...step.state, faultsLeft: left } }));
  const matches = (step: { observed: FeedEvent; state: FeedState }, recorded: RecordedEvent, runs: Runs) =>
    matchOf(step, recorded, { runs, codes });
  return explain({ ...model, next }, { events, known: {} as Runs, matches });
}

function matchOf(
  { observed, state }: { observed: FeedEvent; state: FeedState },
  recorded: RecordedEvent,
  { runs, codes }: { runs: Runs; codes: readonly string[] },
): Runs | undefined {
  if (observed.kind !== recorded.kind) return undefined;
  const given = (holds: boolean) => (holds ? runs : undefined);
  switch (recorded.kind) {
    case 'shop':
      return runs;
    case 'plan': {
      if (observed.kind !== 'plan' || (!observed.isFirst && runs[observed.run] !== recorded.run)) return undefined;
      const run = state.runs[observed.run];
      const isSame = run !== null && isBatch(run, recorded, codes);
      return isSame ? { ...runs, [observed.run]: recorded.run } : undefined;
    }
    case 'push': {
      const { of } = observed as Extract<FeedEvent, { kind: 'push' }>;
      return given(codes[of] === recorded.code && state.places[of]?.pushed === recorded.version);
    }
    case 'failed':
      return given('run' in observed && runs[observed.run] === recorded.run);
    case 'end':
      return given(
        observed.kind === 'end' && observed.isDone === recorded.isDone && runs[observed.run] === recorded.run,
      );
    case 'cursor': {
      const { at, code, readTo } = recorded;
      return given(isEqual(state.cursor, { at, code, readTo }));
    }
    case 'walk':
      return given(isEqual(state.walk, recorded.walk));
    default:
      return recorded satisfies never;
  }
}

type RunOfModel = NonNullable<FeedState['runs']['A']>;

function isBatch(
  { batch, shopNow, readTo, upTo }: RunOfModel,
  recorded: Extract<RecordedEvent, { kind: 'plan' }>,
  codes: readonly string[],
): boolean {
  const { clock } = recorded;
  const isOfMoment = clock.now === readTo && clock.shopNow === shopNow;
  const inOrder = (list: readonly (string | undefined)[]) => JSON.stringify([...list].sort());
  const isSameOrders = inOrder(batch.map((of) => codes[of])) === inOrder(recorded.codes);
  return isOfMoment && isSameOrders && isEqual(upTo, recorded.upTo);
}

function isEqual<T extends object>(one: T | null, other: T | null): boolean {
  if (one === null || other === null) return one === other;
  return Object.entries(one).every(([name, value]) => value === (other as Record<string, unknown>)[name]);
}
