import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isoOf, localPeriod, type Span, startOfDay, without } from '../../src/base/time/span.ts';
import {
  LimitedError,
  MalformedResponseError,
  NotFoundError,
  RefusedError,
  UnavailableError,
} from '../../src/review-api/index.ts';
import { classify, endsOn, isMoreBehind, pageAround } from '../../src/reviews/read/classify-page.ts';
import { obstacleOf } from '../../src/reviews/read/obstacles.ts';
import { halvesOf, upAndDownComplete } from '../../src/reviews/read/read-exhaustively.ts';
import { beginReading } from '../../src/reviews/read/reading.ts';
import { planWindows, windowLimits } from '../../src/reviews/read/window.ts';
import { plausibleDates, reviewSpans } from '../../src/reviews/review-bounds.ts';

const second = fc.integer({ min: 1_000_000_000, max: 2_000_000_000 });
const span = fc
  .tuple(second, fc.integer({ min: 1, max: 500_000_000 }))
  .map(([start, length]): Span => ({ start, end: start + length }));
const share = fc.double({ min: 0, max: 0.999_999, noNaN: true });
const holds = (spans: readonly Span[], at: number) => spans.some((one) => one.start <= at && at < one.end);

describe('planWindows', () => {
  test('each window is within the limit, and neighbours meet', () => {
    fc.assert(
      fc.property(span, (wanted) => {
        const windows = planWindows(wanted);
        expect(windows.every((one) => one.end - one.start <= windowLimits.seconds)).toBe(true);
        expect(windows[0]?.start).toBe(wanted.start);
        expect(windows.at(-1)?.end).toBe(wanted.end);
        for (const [index, one] of windows.slice(1).entries()) expect(one.start).toBe(windows[index]?.end);
      }),
    );
  });

  test('each second of what is wanted is either in one window or covered', () => {
    fc.assert(
      fc.property(span, fc.array(span, { maxLength: 6 }), share, (wanted, covered, part) => {
        const at = wanted.start + Math.floor((wanted.end - wanted.start) * part);
        const windows = planWindows(wanted, covered).filter((one) => holds([one], at));
        expect(windows).toHaveLength(holds(covered, at) ? 0 : 1);
      }),
    );
  });

  test('a window from midnight to midnight touches at most 45 calendar days', () => {
    const day = (text: string) => startOfDay(text, 'Asia/Seoul') ?? 0;
    for (const one of planWindows({ start: day('2026-01-01'), end: day('2027-01-01') })) {
      expect((one.end - one.start) / 86_400 + 1).toBeLessThanOrEqual(45);
    }
  });
});

describe('classify', () => {
  const facts = { timeZone: 'Asia/Seoul', isMore: true };
  const rest = { start: 1000, end: 9000 };
  /** A page of so many records, evenly dated from `first` to `last`. */
  const page = (count: number, [first, last]: [number, number], lastPage?: number) => ({
    seconds: Array.from({ length: count }, (_, index) =>
      Math.floor(first + ((last - first) * index) / (count - 1 || 1)),
    ),
    lastPage,
  });

  test('reading goes on from the last second of a page, which is always later than where it began', () => {
    expect(classify(page(100, [1000, 1500]), rest, facts)).toEqual({ kind: 'continue', from: 1500 });
    expect(classify(page(100, [1000, 9500]), rest, facts)).toEqual({ kind: 'continue', from: 9000 });
    expect(classify(page(100, [1000, 1500]), rest, { ...facts, isMore: false })).toEqual({ kind: 'end' });
  });

  test('a second that fills a page is saturated, and so is the hour that daylight saving repeats', () => {
    expect(classify(page(100, [1000, 1000]), rest, facts)).toEqual({ kind: 'saturated', end: 1001 });
    const inside = Date.parse('2026-11-01T05:30:00Z') / 1000;
    const repeated = { start: inside, end: inside + 86_400 };
    const newYork = { ...facts, timeZone: 'America/New_York' };
    const outcome = classify(page(100, [inside - 900, inside]), repeated, newYork);
    expect(outcome.kind === 'saturated' && outcome.end).toBeGreaterThanOrEqual(inside + 5400);
  });

  test('the order of the dates is checked, not assumed', () => {
    expect(classify({ seconds: [1001, 1003, 1002] }, rest, facts)).toEqual({ kind: 'unsorted' });
    expect(classify({ seconds: [undefined] }, rest, facts)).toEqual({ kind: 'unsorted' });
    // All of its records may be hidden: page numbers tell.
    expect(classify(page(0, [0, 0]), rest, facts)).toEqual({ kind: 'unsorted' });
  });

  test('the last page says where the list ends; a short page of several is no end', () => {
    expect(isMoreBehind(page(30, [1000, 1500], 1), 100)).toBe(false);
    expect(isMoreBehind(page(30, [1000, 1500], 2), 100)).toBe(true);
    expect(isMoreBehind(page(100, [1000, 1500], 1), 100)).toBe(true);
  });

  test('where the service names no last page, the page behind a short one decides', () => {
    expect(isMoreBehind(page(99, [1000, 8000]), 100)).toBeUndefined();
    expect(isMoreBehind(page(100, [1000, 8000]), 100)).toBe(true);
    expect(isMoreBehind(page(0, [0, 0]), 100)).toBe(false);
  });
});

describe('the proof of a span', () => {
  const shown = (count: number, lastPage?: number) => ({ seconds: Array.from({ length: count }, () => 50), lastPage });
  const third = { number: 3, size: 100 };
  const all = { count: 237, isCounted: () => true };

  test('the page on which the list must end shows exactly the rest', () => {
    expect(endsOn(shown(37), third, all)).toBe(true);
    expect(endsOn(shown(38), third, all)).toBe(false);
    // A list of which hidden reviews were taken off: what lies behind this page is not known.
    expect(endsOn(shown(36), third, all)).toBe(false);
    expect(endsOn(shown(37, 3), third, all)).toBe(true);
    expect(endsOn(shown(37, 4), third, all)).toBe(false);
  });

  test('a full page does not end a list, whatever was counted', () => {
    expect(endsOn(shown(100), third, { ...all, count: 300 })).toBe(false);
  });

  test('what lies behind the end of the span does not count', () => {
    const page = { ...shown(60), seconds: Array.from({ length: 60 }, (_, index) => (index < 37 ? 50 : 99)) };
    const cutOff = { ...all, isCounted: (second: number | undefined) => second !== 99 };
    expect(endsOn(page, third, cutOff)).toBe(true);
    expect(endsOn(page, third, { ...cutOff, count: 236 })).toBe(false);
  });

  test('that page shows at least one record and is not full, so that it is neither empty nor refused', () => {
    expect(pageAround(300, 100, 30)).toEqual({ number: 4, size: 99 });
    expect(pageAround(870, 30, 30)).toBeUndefined();
    expect(pageAround(3000, 100, 30)).toBeUndefined();
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3200 }), fc.integer({ min: 1, max: 100 }), (count, fullPage) => {
        const found = pageAround(count, fullPage, 30);
        if (!found) return;
        const { number, size } = found;
        expect(number).toBeLessThanOrEqual(30);
        expect(size).toBeLessThanOrEqual(fullPage);
        expect(size * (number - 1)).toBeLessThan(count);
        expect(size * number).toBeGreaterThan(count);
      }),
    );
  });

  test('after any number of first pages, the last page reaches at least 70 records farther', () => {
    for (let pages = 1; pages <= 28; pages += 1) {
      // Each page begins with the last record of the one before, and that record may not be the only one of its second.
      const { number, size } = pageAround(99 * pages, 100, 30) ?? { number: 0, size: 0 };
      expect(number * size - 99 * pages - 1).toBeGreaterThanOrEqual(70);
    }
  });
});

describe('both ends of a saturated second', () => {
  const list = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => String(from + index));

  test('they are whole when what both show is the end of each, in opposite order', () => {
    expect(upAndDownComplete(list(0, 60), list(40, 100).toReversed())).toBe(true);
    expect(upAndDownComplete(list(0, 60), list(60, 100).toReversed())).toBe(false);
  });

  test('one id in common, or the same order from both ends, proves nothing', () => {
    expect(upAndDownComplete(['5', ...list(20, 60)], ['5', ...list(70, 100)])).toBe(false);
    expect(upAndDownComplete([...list(20, 60), '5'], ['5', ...list(70, 100)])).toBe(false);
    expect(upAndDownComplete(list(0, 60), list(0, 60))).toBe(false);
  });
});

describe('spans', () => {
  test('a gap ends where what lies beside it begins', () => {
    const covered = [
      { start: 20, end: 30 },
      { start: 30, end: 50 },
    ];
    expect(without({ start: 0, end: 100 }, covered)).toEqual([
      { start: 0, end: 20 },
      { start: 50, end: 100 },
    ]);
    expect(without({ start: 10, end: 20 }, [{ start: 0, end: 100 }])).toEqual([]);
    expect(without({ start: 20, end: 31 }, [{ start: 0, end: 30 }])).toEqual([{ start: 30, end: 31 }]);
  });

  test('halves meet, never within an hour that daylight saving repeats', () => {
    expect(halvesOf({ start: 0, end: 5 }, 'Asia/Seoul')).toEqual([
      { start: 0, end: 2 },
      { start: 2, end: 5 },
    ]);
    expect(halvesOf({ start: 4, end: 5 }, 'Asia/Seoul')).toEqual([]);
    const [from, to] = ['2026-11-01T05:00:00Z', '2026-11-01T07:00:00Z'].map((text) => Date.parse(text) / 1000);
    expect(halvesOf({ start: from ?? 0, end: to ?? 0 }, 'America/New_York')).toEqual([]);
    const [first, second] = halvesOf({ start: from ?? 0, end: (to ?? 0) + 6000 }, 'America/New_York');
    expect(first?.end).toBe(second?.start);
    expect(first?.end).toBeGreaterThanOrEqual(to ?? 0);
  });

  test('an hour that daylight saving repeats is asked for whole, from both sides; a skipped one is never named', () => {
    // 01:00 to 02:00 of 2026-11-01 happens twice in New York: first at UTC-4, then at UTC-5.
    const inside = Date.parse('2026-11-01T05:30:00Z') / 1000;
    expect(localPeriod({ start: inside, end: inside + 1 }, 'America/New_York')).toEqual({
      start: '2026-11-01 00:30:00',
      end: '2026-11-01 02:00:01',
      first: inside - 3600,
      last: inside + 5401,
    });
    expect(localPeriod({ start: inside, end: inside + 1 }, 'Asia/Seoul')).toEqual({
      start: '2026-11-01 14:30:00',
      end: '2026-11-01 14:30:01',
      first: inside,
      last: inside + 1,
    });
    // 02:00 to 03:00 of 2026-03-08 does not happen in New York.
    const skipped = Date.parse('2026-03-08T07:00:00Z') / 1000;
    expect(localPeriod({ start: skipped - 1, end: skipped }, 'America/New_York')).toMatchObject({
      start: '2026-03-08 01:59:59',
      end: '2026-03-08 03:00:00',
    });
  });
});

test('no plan holds a date that Postgres cannot read, whatever the zone or the overview', () => {
  for (const zone of ['Asia/Seoul', 'Pacific/Kiritimati', 'America/New_York']) {
    const outliers = ['-000500-01-01', '0001-01-01', '9999-12-31', '+010500-01-01'].map(
      (day) => Date.parse(day) / 1000,
    );
    const spans = reviewSpans({ bounds: undefined, outliers });
    const planned = [...spans, plausibleDates(1, zone, new Date())].flatMap(({ start, end }) => [start, end]);
    for (const second of planned) expect(isoOf(second)).toMatch(/^(?!0000)\d{4}-/);
    const days = spans.map((span) => localPeriod(span, zone)).flatMap(({ start, end }) => [start, end]);
    expect([...days].sort()).toMatchObject({ 0: '0001-01-01 00:00:00', 7: '9999-12-31 23:59:59' });
  }
});

test('what the service refuses or fails on is an obstacle; an error that every other span would meet too is not', () => {
  const request = { method: 'GET', path: '/v1/reviews' };
  expect(obstacleOf(new NotFoundError({ ...request, status: 404 }))).toBe('refused');
  expect(obstacleOf(new RefusedError({ ...request, status: 422 }))).toBe('refused');
  expect(obstacleOf(new UnavailableError({ ...request, status: 500 }))).toBe('service-error');
  expect(obstacleOf(new MalformedResponseError({ ...request, status: 200 }))).toBe('service-error');
  expect(obstacleOf(new UnavailableError(request))).toBe('service-error');
  expect(obstacleOf(new UnavailableError(request, false))).toBeUndefined();
  expect(obstacleOf(new LimitedError({ ...request, status: 429 }))).toBeUndefined();
  expect(obstacleOf(new Error('of the database'))).toBeUndefined();
});

test('a span counts as read from when its first request was sent: what is written after that may not have been shown', async () => {
  const span = { start: 0, end: 100 };
  const deps = { reviews: { page: noRequest }, timeZone: 'UTC', signal: new AbortController().signal, plausible: span };
  const reading = beginReading(deps, 'created', span, { land: async () => true, begin: () => {} });
  for (const second of [10, 20, 30]) {
    const check = { count: 1, fields: [], faults: [], dates: [], products: [] };
    const shown = { ids: [`${second}`], seconds: [second], outOfRange: undefined, lastPage: undefined };
    await reading.take({ ...shown, check, rawBody: Buffer.from('[]'), requestedAt: new Date(second * 1000) });
  }
  await reading.landed();
  expect(reading.proven()).toMatchObject({ reviews: 3, startedAt: new Date(10_000) });
});

const noRequest = () => Promise.reject(new Error('no request is expected'));
