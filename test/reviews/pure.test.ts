import fc from 'fast-check';
import pLimit from 'p-limit';
import { describe, expect, test } from 'vitest';
import { spanOfDays } from '../../src/base/time/day-range.ts';
import {
  intersection,
  isoOf,
  localPeriod,
  partBefore,
  type Span,
  shortestEnd,
  startOfDay,
  without,
  writableDates,
} from '../../src/base/time/span.ts';
import {
  LimitedError,
  MalformedResponseError,
  NotFoundError,
  RefusedError,
  type ReviewApi,
  UnavailableError,
} from '../../src/review-api/index.ts';
import { isDueAgain, listLimits } from '../../src/reviews/limits.ts';
import { backfillReviewsKey, estimateRequests } from '../../src/reviews/plan/plan-backfill-reviews.ts';
import { newestOf, plausibleDates, reviewBounds } from '../../src/reviews/plan/review-bounds.ts';
import { checkPage, fetchPage, type ListPage, pageOfOne, pageWithin } from '../../src/reviews/read/list-page.ts';
import { readSpan } from '../../src/reviews/read/read-span.ts';
import { incompleteError, joinedGaps } from '../../src/reviews/read/read-window.ts';
import { type ReviewExplanation, reviewVerdict } from '../../src/reviews/refresh/explain-review.ts';
import { askReview } from '../../src/reviews/refresh/refresh-review.ts';
import { openLists } from '../../src/reviews/review-deps.ts';
import { halvesOf, planWindows, type Window } from '../../src/reviews/windows.ts';

const second = fc.integer({ min: 1_000_000_000, max: 2_000_000_000 });
const span = fc
  .tuple(second, fc.integer({ min: 1, max: 500_000_000 }))
  .map(([start, length]): Span => ({ start, end: start + length }));
const share = fc.double({ min: 0, max: 0.999_999, noNaN: true });
const holds = (spans: readonly Span[], at: number) => spans.some((one) => one.start <= at && at < one.end);

test('what failed is tried again less and less often, at last once a day', () => {
  const failedAt = new Date('2026-03-01T00:00:00Z');
  const isDue = (attempts: number, minutes: number) =>
    isDueAgain(attempts, failedAt, new Date(failedAt.getTime() + minutes * 60_000));
  for (const [at, minutes] of [10, 40, 160, 640, 1440, 1440].entries())
    expect([minutes, isDue(at + 1, minutes - 1), isDue(at + 1, minutes)]).toEqual([minutes, false, true]);
});

describe('planWindows', () => {
  const spansOf = (windows: readonly Window[]) => windows.map((one) => one.span);

  test('windows are short enough, and each wanted second is in one, or covered', () => {
    const spans = fc.array(span, { maxLength: 6 });
    const isPlanned = fc.property(span, spans, fc.constantFrom(1, 3), share, (wanted, covered, lists, part) => {
      const windows = spansOf(planWindows('created', wanted, covered, lists));
      expect(windows.every((one) => one.end - one.start <= lists * listLimits.seconds)).toBe(true);
      const { start, end } = wanted;
      for (const at of [start, start + Math.floor((end - start) * part), end - 1])
        expect(windows.filter((one) => holds([one], at))).toHaveLength(holds(covered, at) ? 0 : 1);
    });
    fc.assert(isPlanned);
  });

  test('windows are as many as a process reads at a time, and then three lists each', () => {
    const count = (days: number) => planWindows('created', { start: 0, end: days * 86_400 }).length;
    expect([1, 2, 8, 15, 16, 24, 25, 92].map((lists) => count(44 * lists))).toEqual([1, 2, 8, 15, 8, 8, 9, 31]);
  });

  test('a window from midnight to midnight touches at most 45 calendar days', () => {
    const day = (text: string) => startOfDay(text, 'Asia/Seoul') ?? 0;
    const year = { start: day('2026-01-01'), end: day('2027-01-01') };
    for (const one of spansOf(planWindows('created', year, [], 1))) {
      expect((one.end - one.start) / 86_400 + 1).toBeLessThanOrEqual(45);
    }
  });
});

test('the product of a review that was read by its id is not learned', () => {
  const item = { id: 1, product_id: 3, product_code: 'P' };
  const { check } = pageOfOne({ item, rawBody: Buffer.from('{"id":1}') }, { start: 0, end: 1 });
  expect(check.products).toEqual([]);
});

test('a product code that comes as a number is the code of its product', () => {
  // Beyond 2^53 it has lost digits, and would be the code of another product.
  const items = JSON.parse(
    '[{"product_id": 3, "product_code": 7}, {"product_id": 4, "product_code": 9007199254740993}]',
  );
  const { products } = checkPage(items, { start: 0, end: 1 }, Buffer.from('[]'));
  expect(products.map((one) => one.product_code)).toEqual(['7', '']);
});

test('a page without the records beside its span refuses only faults of the others', () => {
  const faults = [0, 2].map((index) => ({ index, reason: `record ${index}` }));
  const page: ListPage = {
    kind: 'page',
    lastPage: 1,
    requestedAt: new Date(),
    ids: ['1', '2', '3', '4'],
    seconds: [9, 10, 19, 20],
    strays: [],
    rawBody: Buffer.from('[{"id":1},{"id":2},{"id":3},{"id":4}]'),
    check: { count: 4, fields: null, lacking: [], faults, products: [] },
  };
  const within = pageWithin(page, [{ start: 10, end: 20 }]);
  expect(within.rawBody.toString()).toBe('[{"id":2},{"id":3}]');
  const check = { count: 2, faults: [{ index: 1, reason: 'record 2' }] };
  expect(within).toMatchObject({ ids: ['2', '3'], seconds: [10, 19], check });
});

describe('spans', () => {
  test('a gap ends where what lies beside it begins', () => {
    const left = (wanted: Span, ...covered: Span[]) => without(wanted, covered).map(({ start, end }) => [start, end]);
    const of = (start: number, end: number): Span => ({ start, end });
    expect(left(of(0, 100), of(20, 30), of(30, 50)).flat()).toEqual([0, 20, 50, 100]);
    expect(left(of(10, 20), of(0, 100))).toEqual([]);
    expect(left(of(20, 31), of(0, 30)).flat()).toEqual([30, 31]);
  });

  test('halves meet, never within an hour that daylight saving repeats', () => {
    const halves = (start: number, end: number, zone = 'Asia/Seoul') =>
      halvesOf({ start, end }, zone).flatMap((one) => [one.start, one.end]);
    expect(halves(0, 5)).toEqual([0, 2, 2, 5]);
    expect(halves(4, 5)).toEqual([]);
    const [from, to] = [Date.parse('2026-11-01T05:00:00Z') / 1000, Date.parse('2026-11-01T07:00:00Z') / 1000];
    expect(halves(from, to, 'America/New_York')).toEqual([]);
    const [, end = 0, start] = halves(from, to + 6000, 'America/New_York');
    expect(end).toBe(start);
    expect(end).toBeGreaterThanOrEqual(to);
  });

  test('an hour that is repeated is asked for whole; a skipped one is never named', () => {
    // 01:00 to 02:00 of 2026-11-01 happens twice in New York: first at UTC-4, then at UTC-5.
    const inside = Date.parse('2026-11-01T05:30:00Z') / 1000;
    const of = (start: number, zone = 'America/New_York') => {
      const period = localPeriod({ start, end: start + 1 }, zone);
      return [period.start, period.end, period.first - inside, period.last - inside];
    };
    expect(of(inside)).toEqual(['2026-11-01 00:30:00', '2026-11-01 02:00:01', -3600, 5401]);
    // The second that was a start above.
    expect(of(inside - 1)[1]).toBe('2026-11-01 02:00:00');
    expect(of(inside, 'Asia/Seoul')).toEqual(['2026-11-01 14:30:00', '2026-11-01 14:30:01', 0, 1]);
    expect(['America/New_York', 'Asia/Seoul'].map((zone) => shortestEnd(inside, zone) - inside)).toEqual([5401, 1]);
    // Clocks went back in Goose Bay at 00:01, by an hour: 03:01 in UTC. The offset of 03:00 is not that of 03:01.
    const at = (time: string) => Date.parse(`2000-10-29T${time}Z`) / 1000;
    const starts = ['03:00:00', '02:01:30'].map((time) => of(at(time), 'America/Goose_Bay')[0]);
    expect(starts).toEqual(['2000-10-28 23:00:00', '2000-10-28 22:31:30']);
    // 02:00 to 03:00 of 2026-03-08 does not happen in New York.
    const skipped = Date.parse('2026-03-08T07:00:00Z') / 1000;
    expect(of(skipped - 1).slice(0, 2)).toEqual(['2026-03-08 01:59:59', '2026-03-08 03:00:00']);
  });

  test('a request names the years 1 to 9999, whatever the zone', () => {
    for (const zone of ['Asia/Seoul', 'UTC', 'America/New_York']) {
      const all = { start: '0001-01-01 00:00:00', end: '9999-12-31 23:59:59' };
      expect(localPeriod(writableDates, zone)).toMatchObject(all);
    }
  });

  test('spans that only meet have nothing in common', () => {
    const common = [9, 10].map((start) => intersection({ start: 0, end: 10 }, { start, end: 20 }));
    expect(common).toEqual([{ start: 9, end: 10 }, undefined]);
    const before = [5, 6, 12].map((second) => partBefore({ start: 5, end: 10 }, second));
    expect(before).toEqual([[], [{ start: 5, end: 6 }], [{ start: 5, end: 10 }]]);
  });
});

test('the plausible dates go from the year to tomorrow, in the zone of the service', () => {
  const { start, end } = plausibleDates(2000, 'Asia/Seoul', new Date('2026-03-01T14:59:59Z'));
  expect([start, end].map(isoOf)).toEqual(['1999-12-31T15:00:00.000Z', '2026-03-02T15:00:00.000Z']);
  // Postgres can read them, whatever the zone.
  for (const zone of ['Asia/Seoul', 'Pacific/Kiritimati', 'America/New_York'])
    expect(isoOf(plausibleDates(1, zone, new Date()).start)).toMatch(/^(?!0000)\d{4}-/);
});

const request = { method: 'GET', path: '/v1/reviews' };
const emptyPage = { items: [], rawBody: Buffer.from('[]'), lastPage: 1, requestedAt: new Date() };
const usual = {
  timeZone: 'UTC',
  signal: AbortSignal.any([]),
  plausible: { start: 0, end: 100 },
  lists: openLists(pLimit(1)),
  now: () => new Date(),
};
const ofFirstSecond = { axis: 'created', span: { start: 0, end: 1 } } as const;

test.each([
  ['refused', new NotFoundError({ ...request, status: 404 })],
  ['refused', new RefusedError({ ...request, status: 422 })],
  ['failed', new UnavailableError({ ...request, status: 500 })],
  ['failed', new MalformedResponseError({ ...request, status: 200 })],
  ['failed', new UnavailableError(request)],
  [undefined, new UnavailableError(request, false)],
  ['failed', new LimitedError({ ...request, status: 429 })],
  [undefined, new Error('of the database')],
] as const)('a list is %s by %s; undefined: any other list would meet that error too', async (kind, error) => {
  const page = async ({ limit }: { limit?: number }) => {
    if (limit === 100) throw error;
    return emptyPage;
  };
  const read = fetchPage({ reviews: { page }, ...usual }, ofFirstSecond, 1);
  if (kind === undefined) await expect(read).rejects.toBe(error);
  else expect(await read).toMatchObject({ kind });
});

const full = new LimitedError({ ...request, status: 429 });
const busy = new UnavailableError({ ...request, status: 503 });

test.each([full, busy])('what gets $status is asked for again once something else was shown', async (error) => {
  const asked: unknown[] = [];
  const once = (what: unknown) => {
    if (asked.push(what) === 1) throw error;
  };
  const page = async ({ limit }: { limit?: number }) => {
    once(limit);
    return emptyPage;
  };
  expect(await fetchPage({ reviews: { page }, ...usual }, ofFirstSecond, 1)).toMatchObject({ kind: 'page' });
  expect(asked.splice(0)).toEqual([100, 1, 100]);
  const getRaw = async () => {
    once('review');
    return { item: { id: 1 }, rawBody: Buffer.from('{"id":1}') };
  };
  const reviews = { getRaw, overview: async () => once('overview') } as unknown as ReviewApi['reviews'];
  expect(await askReview({ reviews }, 1)).toMatchObject({ kind: 'shown' });
  expect(asked).toEqual(['review', 'overview', 'review']);
});

test.each(['are empty', 'fail'])('the newest review is found where lists that end ahead of now %s', async (how) => {
  const now = new Date('2026-11-29T00:00:00Z');
  const page = async ({ end_datetime = '' }) => {
    const isAhead = Date.parse(`${end_datetime}Z`) > now.getTime();
    if (isAhead && how === 'fail') throw new UnavailableError({ ...request, status: 500 });
    const items = isAhead ? [] : [{ id: 1, created_at: '2026-11-20T00:00:00Z' }];
    return { ...emptyPage, items, rawBody: Buffer.from(JSON.stringify(items)) };
  };
  const span = { start: Date.parse('2026-11-01') / 1000, end: Date.parse('2026-12-01') / 1000 };
  const deps = { ...usual, reviews: { page }, plausible: plausibleDates(2000, 'UTC', now), now: () => now };
  expect(await newestOf(deps, 'created', span)).toBe(Date.parse('2026-11-20') / 1000);
});

const hour = 3600;
const all: Span = { start: 0, end: 20_000 * hour };
const ofDates = (first?: number, last?: number, newest?: number) => ({ first, last, newest, isEmpty: false });
const upTo = (hours: number) => hours * hour + 1;

test.each([
  ['from a zone before the first date, to the newest of the list', ofDates(100, 200, 210), 74, upTo(210)],
  ['to the last date, if the list is not in order', ofDates(100, 200, 150), 74, upTo(200)],
  ['to a zone after the last date, if the list shows none', ofDates(100, 200), 74, upTo(226)],
  ['from the first plausible date, if both are in the wrong order', ofDates(200, 100), 0, upTo(126)],
  ['from the first plausible date, if no first one is named', ofDates(undefined, 100, 120), 0, upTo(120)],
  ['to the last plausible date, if no last one is named', ofDates(100, undefined, 120), 0, all.end],
  ['over all plausible dates, if none is named', ofDates(), 0, all.end],
  ['over twelve lists, if nothing says that there is a review', { ...ofDates(), isEmpty: true }, 7328, all.end],
  ['not beyond the plausible dates', ofDates(10, 30_000), 0, all.end],
])('bounds of all reviews go %s', (_, { isEmpty, ...dates }, start, end) => {
  const [first, last, newest] = [dates.first, dates.last, dates.newest].map((at) => at && at * hour);
  expect(reviewBounds(all, { first, last, newest, isEmpty })).toEqual({ start: start * hour, end });
});

test('gaps of one kind that meet are one; an error names a reason of each kind', () => {
  const gap = (start: number, end: number, kind: 'refused' | 'failed', reason: string) => {
    return { span: { start, end }, kind, reason };
  };
  const three = [gap(20, 30, 'refused', 'b'), gap(0, 20, 'refused', 'a'), gap(30, 40, 'failed', 'c')];
  const text = (start: number, end: number, reason: string) =>
    `The reviews created from ${isoOf(start)} to ${isoOf(end)} cannot be read: ${reason}`;
  const [first, second, third] = [text(0, 30, 'a'), text(30, 40, 'c'), text(50, 51, 'd')];
  const joined = joinedGaps('created', [...three, gap(50, 51, 'failed', 'd')]);
  expect(joined.map(({ reason }) => reason)).toEqual([first, second, third]);
  expect(incompleteError(joined).message).toBe(`${first}. ${second}. 1 more span cannot be read for such reasons`);
  expect(incompleteError(joined.slice(0, 2)).message).toBe(`${first}. ${second}`);
});

test('a span counts as read from its first request on, up to a minute before that', async () => {
  const span = { start: 0, end: 100 };
  let second = 0;
  const page = async () => {
    second += 10;
    return { ...emptyPage, requestedAt: new Date(second * 1000) };
  };
  const deps = { ...usual, reviews: { page } };
  const end = await readSpan(deps, 'created', { span }, async () => {});
  const startedAt = new Date(10_000);
  expect(end).toMatchObject({ kind: 'proven', reviews: 0, requests: 2, startedAt, readUntil: 10 - 60 });
});

const inService = { service: { id: 1 }, deadLetters: [] };
const differing = (kind: string, ...fields: string[]) => ({ ...inService, differences: [{ id: 1, kind, fields }] });
const heldSince = (deleted_at: Date | null) => ({ warehouse: { id: 1, deleted_at }, deadLetters: [], differences: [] });
test.each([
  [heldSince(null), 'It should be marked deleted: review-sync verify reviews --repair does that.'],
  [heldSince(new Date()), 'Neither the service nor the warehouse shows it.'],
  [{ ...differing('missing'), deadLetters: [{ id: 1 }] }, expect.stringContaining('the dead letter gives the reason')],
  [differing('missing'), expect.stringContaining('run review-sync backfill reviews')],
  [differing('refused'), 'The warehouse cannot hold it as it is.'],
  [differing('stale', 'score', 'mood'), 'They differ in score, mood.'],
  [differing('reverted', 'updated_at'), 'They differ in updated_at.'],
  [{ ...inService, differences: [] }, 'Service and warehouse agree.'],
])('of a review with %o explain says: %s', (review, verdict) => {
  const nothing = { id: 1, service: undefined, warehouse: undefined, windows: [], missed: undefined };
  expect(reviewVerdict({ ...nothing, ...review } as unknown as ReviewExplanation)).toEqual(verdict);
});

test.each([
  ['gone', new NotFoundError({ ...request, status: 404 })],
  ['gone', new NotFoundError({ ...request, status: 410 })],
  ['failed', new RefusedError({ ...request, status: 403 })],
] as const)('a review is %s where the service answers %s', async (kind, error) => {
  const reviews = { getRaw: () => Promise.reject(error) } as unknown as ReviewApi['reviews'];
  expect(await askReview({ reviews }, 1)).toMatchObject({ kind });
});

test('a day ends where the next one begins, also without midnight, or with two', () => {
  const days = [
    ['America/Santiago', '2026-09-05', '2026-09-06', '2026-09-07'],
    ['Africa/Cairo', '2026-04-23', '2026-04-24', '2026-04-25'],
    ['Asia/Beirut', '2026-03-28', '2026-03-29', '2026-03-30'],
    ['Atlantic/Azores', '2026-10-24', '2026-10-25', '2026-10-26'],
  ] as const;
  for (const [zone, before, odd, after] of days) {
    const ends = [before, odd].map((to) => spanOfDays({ to }, zone).end);
    expect([zone, ...ends]).toEqual([zone, startOfDay(odd, zone), startOfDay(after, zone)]);
  }
});

test('two backfills are the same if both ends of their days and --gaps are the same', () => {
  const ranges = [{}, { from: '2026-01-01' }, { to: '2026-02-01' }, { from: '2026-01-01', to: '2026-02-01' }] as const;
  const keys = ranges.flatMap((range) => [false, true].map((gaps) => backfillReviewsKey({ ...range, gaps })));
  expect(new Set(keys).size).toBe(8);
});

test.each([
  [1, 1, false, 2],
  [29, 1, false, 31],
  [30, 1, true, 32],
  [undefined, 1, true, 2],
  [undefined, 0, false, 2],
])('a window whose page 1 names last page %s and has %i reviews may be more: %s', async (...given) => {
  const [lastPage, count, atLeast, requests] = given;
  const items = Array(count).fill({ id: 1, created_at: isoOf(50), updated_at: isoOf(50) });
  const page = async () => ({ ...emptyPage, items, rawBody: Buffer.from(JSON.stringify(items)), lastPage });
  const window = { axis: 'created', span: { start: 0, end: 100 } } as const;
  const reading = { ...usual, reviews: { page } };
  expect(await estimateRequests(reading, [window, window])).toEqual({ atLeast, requests: 2 * requests });
  const refused = new RefusedError({ ...request, status: 422 });
  const refusing = { ...usual, reviews: { page: () => Promise.reject(refused) } };
  expect(await estimateRequests(refusing, [window])).toEqual({ atLeast: true, requests: 2 });
});
