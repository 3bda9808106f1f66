import { describe, expect, test } from 'vitest';
import type { Model } from './check.ts';
import { expectExplained, explain } from './explain.ts';
import { judgeReview, type RecordedEvent as RecordedReviewEvent, type ReviewRecording } from './review-trace.ts';

describe('the review model judges recordings', () => {
  const listed: RecordedReviewEvent = { kind: 'listed', axis: 'created', version: 0 };
  const landed: RecordedReviewEvent = { kind: 'landed', version: 0 };
  const entered: RecordedReviewEvent = { kind: 'entered', axis: 'created', covers: 0b1, past: 1 };
  /** The next run reads after the review. */
  const cursor: RecordedReviewEvent = { kind: 'cursor', at: 1 };
  const gap: RecordedReviewEvent = { kind: 'gaps', gaps: { created: 0b1, updated: 0 } };
  const none = { created: 0, updated: 0 };
  const recording = (events: RecordedReviewEvent[]): ReviewRecording => ({
    ticks: 1,
    created: 0,
    listed: 0,
    version: 0,
    begin: { row: null, cursor: null, gaps: none, now: 0 },
    events,
  });
  const judge = (...events: RecordedReviewEvent[]) => judgeReview(recording(events));

  test.each<[string, RecordedReviewEvent[]]>([
    ['a sync without faults', [listed, landed, entered, cursor]],
    ['a sync that was shown the review twice, and died between', [listed, listed, landed, listed, entered, cursor]],
    ['a sync that could not read a window and leaves a gap', [gap, cursor]],
    ['a gap that the next sync reads', [gap, cursor, listed, landed, entered]],
  ])('%s is explained', (_, events) => {
    expect(judge(...events).rejected).toBeUndefined();
  });

  test.each<[string, RecordedReviewEvent[], rejected: number]>([
    ['a cursor that moves before its reviews are committed', [listed, cursor, landed, entered], 1],
    ['coverage that is written before the page', [listed, entered, landed, cursor], 1],
    ['coverage without a request', [entered], 0],
    ['a review that lands and was in no response', [landed, listed], 0],
    ['a second that counts as covered a moment after it began', [listed, landed, { ...entered, past: 0 }], 2],
    ['a gap that is written after the cursor has passed it', [cursor, gap], 0],
  ])('%s is rejected', (_, events, index) => {
    const { accepted, rejected } = judge(...events);
    expect({ accepted, rejected }).toEqual({ accepted: index, rejected: events[index] });
  });

  test('an older version that overwrites a newer one is rejected', () => {
    const events: RecordedReviewEvent[] = [
      { kind: 'listed', axis: 'updated', version: 0 },
      { kind: 'landed', version: 0 },
    ];
    const changed = { ticks: 2, version: 1, begin: { row: 1, cursor: 0, gaps: none, now: 2 } };
    expect(judgeReview({ ...recording(events), ...changed }).rejected).toEqual(events[1]);
  });
});

describe('the review model judges recordings of a reconcile', () => {
  const gone: RecordedReviewEvent = { kind: 'service', version: null };
  const missed: RecordedReviewEvent = {
    kind: 'entered',
    axis: 'created',
    covers: 0b1,
    past: 1,
    by: 'reconcile',
    isSuspect: true,
  };
  const [found, notFound] = [true, false].map((isFound): RecordedReviewEvent => ({ kind: 'asked', isFound }));
  const [marked, cleared, suspected] = (['marked', 'cleared', 'suspected'] as const).map(
    (kind): RecordedReviewEvent => ({ kind }),
  );
  const judge = (listed: number | null, events: (RecordedReviewEvent | undefined)[]) =>
    judgeReview({
      kinds: ['reconcile'],
      ticks: 1,
      created: 0,
      version: 0,
      listed,
      begin: { row: 0, cursor: null, gaps: { created: 0, updated: 0 }, now: 1 },
      events: events.filter((event) => event !== undefined),
    });

  test.each<[string, number | null, (RecordedReviewEvent | undefined)[]]>([
    ['a review that is gone', 0, [gone, missed, notFound, marked]],
    ['a review that is in no list, and that the service knows by its id', null, [missed, found, cleared]],
    ['a process that dies after the 404, and asks again', 0, [gone, missed, notFound, notFound, marked]],
    ['a suspect that could not be asked about', 0, [gone, missed]],
  ])('%s is explained', (_, listed, events) => {
    expect(judge(listed, events).rejected).toBeUndefined();
  });

  test.each<[string, number | null, (RecordedReviewEvent | undefined)[], rejected: number]>([
    ['a mark without a request for the review', 0, [gone, missed, marked], 2],
    ['a mark although the service knows the review', null, [missed, found, marked], 2],
    [
      'coverage that does not suspect a review that was not shown',
      0,
      [gone, { ...missed, isSuspect: false } as const],
      1,
    ],
    ['a suspicion without coverage', 0, [gone, suspected], 1],
    ['a suspicion that ends without a request', 0, [gone, missed, cleared], 2],
    ['a suspicion of a review that was shown', 0, [{ kind: 'listed', axis: 'created', version: 0 }, missed], 1],
  ])('%s is rejected', (_, listed, events, index) => {
    const { accepted, rejected } = judge(listed, events);
    expect({ accepted, rejected }).toEqual({ accepted: index, rejected: events[index] });
  });
});

describe('a rejection', () => {
  test('shows the longest part that is explained, the event that is not, and what the model allows instead', () => {
    const counter: Model<number> = {
      initial: 0,
      next: (n) => [{ action: `count to ${n + 1}`, state: n + 1, observed: n + 1 }],
      key: String,
      invariants: {},
      goal: { name: '', isReached: () => true },
      probes: {},
    };
    const matches = ({ observed }: { observed: unknown }, recorded: number) =>
      observed === recorded ? true : undefined;
    const events = [1, 2, 4];
    const judged = explain(counter, { events, known: true, matches });
    const text = ['explains 2 of 3 events', '1. 1', '2. 2', 'no action explains the next one', '3. 4', 'count to 3'];
    expect(() => expectExplained(judged, 'a count', events)).toThrow(new RegExp(text.join('[^]*')));
  });
});
