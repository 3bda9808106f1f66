import { describe, expect, test } from 'vitest';
import type { Model } from './check.ts';
import { expectExplained, explain } from './explain.ts';
import { type FeedRecording, judgeFeed, type RecordedEvent as RecordedFeedEvent } from './feed-trace.ts';
import { judgeOrder, type OrderRecording, type RecordedEvent, type RecordedRow } from './order-trace.ts';
import type { Link } from './orders.ts';
import { judgeReview, type RecordedEvent as RecordedReviewEvent, type ReviewRecording } from './review-trace.ts';

describe('the order model judges recordings', () => {
  const row: RecordedRow = { pushed: null, isUnsure: false, isRetryDue: false, removalsWanted: 0, isHeld: false };
  const pending: Link = { line: 'a', id: null, content: 'S', before: [] };
  const token = 'lease 1';
  const lease: RecordedEvent = { kind: 'lease', token, row, links: [] };
  const post: RecordedEvent = { kind: 'post' };
  const links: RecordedEvent = { kind: 'links', token, links: [pending] };
  const create: RecordedEvent = { kind: 'create', product: 1, price: '10', status: 201 };
  const record: RecordedEvent = {
    kind: 'record',
    token,
    row: { ...row, pushed: 'fingerprint 1' },
    links: [{ ...pending, id: 1 }],
  };
  const cursor: RecordedEvent = { kind: 'cursor', upTo: 0 };
  const recording = (events: RecordedEvent[]): OrderRecording => ({
    versions: [{ a: 'S' }],
    fingerprints: ['fingerprint 1'],
    waits: [false],
    isEmptied: [false],
    begin: { row: undefined, links: [], subs: [], hasOrder: false, cursor: -1, isLeased: false },
    events,
  });
  const judge = (...events: RecordedEvent[]) => judgeOrder(recording(events));

  test('a push without faults is explained', () => {
    expect(judge(lease, post, links, create, record, cursor).rejected).toBeUndefined();
  });

  test('a process that dies after its create, and another that finds the sub-order, are explained', () => {
    const taken: RecordedEvent = { kind: 'lease', token: 'lease 2', row: { ...row, isUnsure: true }, links: [pending] };
    const found: RecordedEvent = { kind: 'links', token: 'lease 2', links: [{ ...pending, id: 1 }] };
    const recorded: RecordedEvent = { ...record, token: 'lease 2' };
    expect(judge(lease, post, links, create, taken, post, found, recorded, cursor).rejected).toBeUndefined();
  });

  test.each<[string, RecordedEvent[], rejected: number]>([
    ['a request without the lease', [post, lease], 0],
    ['a create before its link is written', [lease, post, create, links], 2],
    ['a second create without a look at the service between the two', [lease, post, links, create, create], 4],
    ['a cursor that moves before the push is recorded', [lease, post, links, create, cursor, record], 4],
    ['a record under the lease of another process', [lease, post, links, create, { ...record, token: 'lease 2' }], 4],
    ['a lease that is taken while another holds it', [lease, { ...lease, token: 'lease 2' }], 1],
    [
      'a record without the sub-order that was created',
      [lease, post, links, create, { ...record, links: [pending] }],
      4,
    ],
  ])('%s is rejected', (_, events, index) => {
    const { accepted, rejected } = judge(...events);
    expect({ accepted, rejected }).toEqual({ accepted: index, rejected: events[index] });
  });

  test('a removal in a push that the run has not counted is rejected', () => {
    const known = { ...row, pushed: 'fingerprint 0' };
    const old: Link = { ...pending, id: 1 };
    const events: RecordedEvent[] = [
      { kind: 'lease', token, row: known, links: [old] },
      post,
      { kind: 'remove', id: 1, status: 204 },
    ];
    const judged = judgeOrder({
      ...recording(events),
      versions: [{}],
      begin: { row: known, links: [old], subs: [{ id: 1, content: 'S' }], hasOrder: true, cursor: -1, isLeased: false },
    });
    expect(judged.rejected).toEqual(events[2]);
  });

  describe('of an order whose linked sub-order is not shown', () => {
    const known = { ...row, pushed: 'fingerprint 0' };
    const old: Link = { ...pending, id: 1 };
    const leased: RecordedEvent = { kind: 'lease', token, row: known, links: [old] };
    const asked = (status: number): RecordedEvent => ({ kind: 'change', id: 1, status });
    const again: RecordedEvent = { kind: 'links', token, links: [pending], unseen: [old] };
    const judgeAt = (subs: readonly number[], ...events: RecordedEvent[]) => {
      const service = { subs: subs.map((id) => ({ id, content: 'S' })), hasOrder: true };
      const begin = { row: known, links: [old], cursor: -1, isLeased: false, ...service };
      return judgeOrder({ ...recording(events), begin }).rejected;
    };

    test('a push that asks about it and makes it again where it is gone is explained', () => {
      expect(judgeAt([1], leased, post, asked(200), { ...record, links: [old] }, cursor)).toBeUndefined();
      expect(judgeAt([], leased, post, asked(404), again, create)).toBeUndefined();
    });

    test('a push that makes it again although it is there, or after a 404 to a change that is carried out, is rejected', () => {
      expect(judgeAt([1], leased, post, again, create)).toEqual(again);
      expect(judgeAt([1], leased, post, asked(404), again, create)).toEqual(again);
    });
  });

  describe('of an order that has lost a line', () => {
    const noted = { ...row, pushed: 'fingerprint 1', removalsWanted: 1 };
    const held = { ...noted, isHeld: true };
    const lost: Link = { ...pending, line: 'b', id: 2 };
    const kept: Link = { ...pending, id: 1 };
    const leased = (known: RecordedRow): RecordedEvent => ({ kind: 'lease', token, row: known, links: [kept, lost] });
    const removed: RecordedEvent = { kind: 'remove', id: 2, status: 204 };
    const hold: RecordedEvent = { kind: 'hold', row: held };
    const recordedAs = (known: RecordedRow, links = [kept, lost]): RecordedEvent => ({
      kind: 'record',
      token,
      row: known,
      links,
    });
    const judgeAfter = (known: RecordedRow, ...events: RecordedEvent[]) =>
      judgeOrder({
        ...recording(events),
        begin: {
          row: known,
          links: [kept, lost],
          subs: [
            { id: 1, content: 'S' },
            { id: 2, content: 'S' },
          ],
          hasOrder: true,
          cursor: -1,
          isLeased: false,
        },
      }).rejected;

    test('a last batch that removes what was counted is explained, and one that removes what is held back is rejected', () => {
      const done = recordedAs({ ...noted, removalsWanted: 0 }, [kept]);
      expect(judgeAfter(noted, cursor, leased(noted), post, removed, done)).toBeUndefined();
      expect(judgeAfter(held, cursor, leased(held), post, removed)).toEqual(removed);
    });

    test('a push during which its order is held back keeps it so, and one that undoes that is rejected', () => {
      const unheld = recordedAs(noted);
      expect(judgeAfter(noted, cursor, leased(noted), post, hold, recordedAs(held))).toBeUndefined();
      expect(judgeAfter(noted, cursor, leased(noted), post, hold, unheld)).toEqual(unheld);
    });
  });
});

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

describe('the feed model judges recordings', () => {
  const second = 1000;
  /** Orders a, b and c, which changed in this order; batches of two. */
  const orders = Object.fromEntries(
    ['a', 'b', 'c'].map((code, index) => [code, { version: 1, date: (1000 + index) * second }]),
  );
  const clock = { now: 2000 * second, shopNow: 2000 * second };
  const at = (code: string) => ({ at: orders[code]?.date ?? 0, code });
  const plan = (codes: string[], upTo = at(codes.at(-1) ?? '')): RecordedFeedEvent => {
    return { kind: 'plan', run: 'R', codes, clock, upTo: codes.length === 0 ? null : upTo };
  };
  const push = (code: string, version = 1): RecordedFeedEvent => ({ kind: 'push', code, version });
  const cursorAt = (code: string, readTo = begun.readTo): RecordedFeedEvent => ({
    kind: 'cursor',
    ...at(code),
    readTo,
  });
  const begun = { at: 1000 * second, code: '', readTo: 1000 * second };
  const failed: RecordedFeedEvent = { kind: 'failed', run: 'R' };
  const end = (isDone: boolean): RecordedFeedEvent => ({ kind: 'end', run: 'R', isDone });
  const judge = (events: RecordedFeedEvent[], begin: Partial<FeedRecording['begin']> = {}) =>
    judgeFeed({
      lookbackMinutes: 0,
      batchSize: 2,
      begin: { orders, pushed: { a: 0, b: 0, c: 0 }, cursor: begun, walk: null, ...begin },
      events,
    });
  const first = [plan(['a', 'b']), push('b'), push('a'), cursorAt('b')];
  const rest = [plan(['c']), push('c'), cursorAt('c')];
  const read = cursorAt('c', clock.now);

  test.each<[string, RecordedFeedEvent[]]>([
    ['a run without faults', [...first, ...rest, read, end(true)]],
    ['a run whose step fails, and that reads no further', [plan(['a', 'b']), push('a'), failed, end(false)]],
    [
      'a run whose step fails, and that pushes the other orders without its cursor',
      [plan(['a', 'b']), failed, plan(['c']), push('c'), end(false)],
    ],
    [
      'a run that is lost after it saved its cursor, and another that goes on from there',
      [
        ...first,
        // By the moment until which the run before them has read.
        { kind: 'plan', run: 'S', codes: ['a', 'b'], clock, upTo: at('b') },
        { kind: 'plan', run: 'S', codes: ['c'], clock, upTo: at('c') },
        push('c'),
        cursorAt('c'),
      ],
    ],
    [
      'a change while a run goes on, which its next batch finds',
      [
        ...first,
        { kind: 'shop', orders: { ...orders, a: { version: 2, date: 1500 * second } } },
        plan(['c', 'a'], { at: 1500 * second, code: 'a' }),
      ],
    ],
  ])('%s is explained', (_, events) => {
    expect(judge(events).rejected).toBeUndefined();
  });

  test.each<[string, RecordedFeedEvent[], rejected: number]>([
    ['a cursor that moves past a change that was not pushed', [plan(['a', 'b']), push('a'), cursorAt('b')], 2],
    ['a cursor that moves although a step failed', [plan(['a', 'b']), push('a'), failed, cursorAt('b')], 3],
    [
      'a cursor that moves in a later batch of a run of which a step failed',
      [plan(['a', 'b']), failed, plan(['c']), push('c'), cursorAt('c')],
      4,
    ],
    ['a cursor that moves further than the batch', [...first.slice(0, 3), cursorAt('c')], 3],
    ['a batch that leaves a change out', [plan(['a', 'c'])], 0],
    ['a next batch that leaves a change out', [...first, plan([])], 4],
    ['a run that ends done although its step failed', [plan(['a', 'b']), failed, end(true)], 2],
    ['a run that ends done before it has read everything', [...first, end(true)], 4],
    ['the push of a version that the shop does not have', [plan(['a', 'b']), push('a', 2)], 1],
    ['a run that says it has read until a moment after its plan', [...first, ...rest, cursorAt('c', 2001 * second)], 7],
  ])('%s is rejected', (_, events, index) => {
    const { accepted, rejected } = judge(events);
    expect({ accepted, rejected }).toEqual({ accepted: index, rejected: events[index] });
  });

  describe('of a first walk', () => {
    const none = { cursor: null, pushed: {} };
    const walk = (passed: number): RecordedFeedEvent => ({ kind: 'walk', walk: { beganAt: clock.shopNow, passed } });
    const over: RecordedFeedEvent = { kind: 'walk', walk: null };
    const walked = (codes: string[]): RecordedFeedEvent => ({ kind: 'plan', run: 'R', codes, clock, upTo: null });
    const toBegin: RecordedFeedEvent = { kind: 'cursor', at: clock.shopNow, code: '', readTo: null };
    const begin = [walk(0), walked(['a', 'b']), push('a'), push('b')];

    test('all its commits are explained, and what changed behind it is read at its end', () => {
      const rest = [walk(2), walked(['c']), push('c'), toBegin, over, walked([])];
      expect(judge([...begin, ...rest], none).rejected).toBeUndefined();
    });

    test.each<[string, RecordedFeedEvent[], rejected: number]>([
      ['a walk that moves on past an order that was not pushed', [...begin.slice(0, 3), walk(2)], 3],
      ['a cursor before the walk has ended', [...begin, walk(2), toBegin], 5],
      [
        'a cursor at the end of the walk instead of its beginning',
        [...begin, walk(2), walked(['c']), push('c'), { ...toBegin, at: clock.shopNow + 1 }],
        7,
      ],
    ])('%s is rejected', (_, events, index) => {
      const { accepted, rejected } = judge(events, none);
      expect({ accepted, rejected }).toEqual({ accepted: index, rejected: events[index] });
    });
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
