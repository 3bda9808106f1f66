import { beforeEach, expect, test } from 'vitest';
import { gapsProblem } from '../../src/reviews/read/read-window.ts';
import { newestBut, storedDates, suspects } from '../../src/warehouse/reviews/absent-reviews.ts';
import {
  closeGaps,
  closeGapsReadSince,
  coveredSpans,
  enterSpan,
  namedDates,
  openGap,
  openGaps,
  recordOverview,
} from '../../src/warehouse/reviews/coverage.ts';
import { pruneHistory } from '../../src/warehouse/runs/retention.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

const { ask, warehouse } = await openTestWarehouse(2);
beforeEach(() =>
  ask(
    `truncate warehouse.reviews, warehouse.review_overview, sync.absent_reviews, sync.open_gaps, sync.export_windows`,
  ),
);

const now = new Date('2026-07-01T00:00:00Z');
const gap = (start: number, end: number) =>
  openGap(warehouse.db, 'created', { span: { start, end }, kind: 'too-many', reason: `${start}` });
const spans = async () => (await openGaps(warehouse.db)).map(({ span }) => [span.start, span.end]);

const at = (second: number, ids: readonly number[]) =>
  ask(
    `insert into warehouse.reviews (id, created_at, updated_at)
     select id, to_timestamp($1::integer), to_timestamp($1::integer) from unnest($2::bigint[]) as id`,
    [second, ids],
  );
const proven = {
  runId: 'run',
  axis: 'created',
  pages: 1,
  reviews: 1,
  requests: 1,
  startedAt: now,
  absent: [],
} as const;

test('spans stay until a reconcile has read them again, those of updates for 38 days', async () => {
  await ask(`insert into sync.export_windows (run_id, axis, start_at, end_at, pages, reviews, requests, started_at, finished_at)
     select 'sync', axis, t, t + interval '1 day', 1, 2, 3, t, t
     from generate_series(timestamptz '2024-07-01', '2026-06-30', '1 day') t, (values ('updated'), ('created')) a (axis)`);
  const kept = () => ask('select axis, count(*)::integer as n from sync.export_windows group by axis order by axis');
  await pruneHistory(warehouse.db, now, 5000);
  expect(await kept()).toEqual([
    { axis: 'created', n: 730 },
    { axis: 'updated', n: 38 },
  ]);
  await pruneHistory(warehouse.db, now, 10);
  expect(await kept()).toEqual([
    { axis: 'created', n: 18 },
    { axis: 'updated', n: 38 },
  ]);
});

test('old captures are deleted, except for the newest one', async () => {
  await ask(`insert into warehouse.review_overview (captured_at, first_review_created_at, last_review_created_at)
     select t, '2023-01-01', t - interval '1 minute' from generate_series(timestamptz '2024-06-01', '2026-06-30 23:45', '1 hour') t`);
  await pruneHistory(warehouse.db, now, 30);
  const captures = () => ask('select count(*)::integer as n, min(captured_at) as first from warehouse.review_overview');
  expect(await captures()).toEqual([{ n: 90 * 24, first: new Date('2026-04-02T00:00:00Z') }]);
  await pruneHistory(warehouse.db, new Date('2027-01-01T00:00:00Z'), 30);
  expect(await captures()).toEqual([{ n: 1, first: new Date('2026-06-30T23:00:00Z') }]);
});

test('a span, what it lacks and the gap that it closes are entered together', async () => {
  await gap(100, 200);
  await at(150, [1, 2, 3]);
  const entry = { ...proven, span: { start: 100, end: 200 }, reviews: 2, requests: 3, absent: [3] };
  await ask('alter table sync.absent_reviews add constraint broken check (false)');
  await expect(enterSpan(warehouse.db, entry)).rejects.toThrow('broken');
  expect(await coveredSpans(warehouse.db, 'created')).toEqual([]);
  expect(await spans()).toHaveLength(1);
  await ask('alter table sync.absent_reviews drop constraint broken');
  await enterSpan(warehouse.db, entry);
  const absent = () => ask('select review_id::integer as id, run_id as run from sync.absent_reviews');
  expect(await absent()).toEqual([{ id: 3, run: 'run' }]);
  const counts = await ask('select pages, reviews, requests, started_at from sync.export_windows');
  expect(counts).toEqual([{ pages: 1, reviews: 2, requests: 3, started_at: now }]);
  expect(await coveredSpans(warehouse.db, 'created')).toEqual([entry.span]);
  expect(await spans()).toEqual([]);
  // Missed again, it keeps its place among those that wait.
  await enterSpan(warehouse.db, { ...entry, runId: 'later' });
  expect(await absent()).toEqual([{ id: 3, run: 'run' }]);
});

test('a gap of updates closes once every review was read by its creation date', async () => {
  const hour = 3600;
  const seen = Math.floor(Date.now() / 1000) - 100 * hour;
  await at(seen - 50 * hour, [1]);
  const updates = { start: seen - 2 * hour, end: seen - hour };
  await openGap(warehouse.db, 'updated', { span: updates, kind: 'too-many', reason: 'r' });
  await ask('update sync.open_gaps set first_seen_at = to_timestamp($1::integer)', [seen]);
  const read = (start: number, end: number, startedAt: number, axis: 'created' | 'updated' = 'created') =>
    enterSpan(warehouse.db, { ...proven, axis, span: { start, end }, startedAt: new Date(startedAt * 1000) });
  const openAfterClosing = async () => {
    await closeGapsReadSince(warehouse.db);
    return (await spans()).length;
  };
  await read(seen - 60 * hour, seen, seen - hour);
  expect(await openAfterClosing()).toBe(1);
  await read(seen - 60 * hour, seen - 30 * hour, seen + hour);
  expect(await openAfterClosing()).toBe(1);
  await read(seen - 30 * hour, seen - 2 * hour, seen + 2 * hour, 'updated');
  await read(seen - 2 * hour, seen - hour, seen + 2 * hour);
  expect(await openAfterClosing()).toBe(1);
  await read(seen - 30 * hour, seen - hour, seen + 30 * hour);
  // The service names an older review than the warehouse holds, and later no longer.
  for (const [at, hours, open] of [
    ['2026-01-01', 70, 1],
    ['2026-01-02', 40, 0],
  ] as const) {
    await ask('insert into warehouse.review_overview values ($1, to_timestamp($2), now())', [at, seen - hours * hour]);
    expect(await openAfterClosing()).toBe(open);
  }
  // A gap that ends after it was found may hold later updates.
  const span = { start: seen - hour, end: seen + hour };
  await openGap(warehouse.db, 'updated', { span, kind: 'failed', reason: 'r' });
  await ask('update sync.open_gaps set first_seen_at = to_timestamp($1::integer)', [seen]);
  await read(seen - 60 * hour, seen + 2 * hour, seen + 3 * hour);
  expect(await openAfterClosing()).toBe(1);
});

test('what was read by a clock that is ahead closes no gap that is found later', async () => {
  const second = Math.floor(Date.now() / 1000);
  await at(second - 500, [1]);
  const startedAt = new Date(Date.now() + 6 * 3_600_000);
  const read = () => enterSpan(warehouse.db, { ...proven, span: { start: second - 1000, end: second }, startedAt });
  await read();
  const span = { start: second - 300, end: second - 200 };
  await openGap(warehouse.db, 'updated', { span, kind: 'failed', reason: 'r' });
  await closeGapsReadSince(warehouse.db);
  expect(await openGaps(warehouse.db)).toHaveLength(1);
  await read();
  await closeGapsReadSince(warehouse.db);
  expect(await openGaps(warehouse.db)).toEqual([]);
});

test('of the suspected reviews those that wait longest are asked about first', async () => {
  await at(100, [1, 2, 3, 4]);
  await ask('update warehouse.reviews set deleted_at = now() where id = 4');
  await ask(`insert into sync.absent_reviews (review_id, run_id, missed_at)
     select id, 'run', now() - id * interval '1 day' from generate_series(1, 4) id`);
  expect((await suspects(warehouse.db, 2)).map(({ id }) => id)).toEqual([3, 2]);
});

test('reviews that are marked deleted or suspected vouch for nothing', async () => {
  await at(100, [1]);
  await at(150, [2]);
  await at(160, [3]);
  await at(900, [4]);
  await at(155, [5]);
  await ask('update warehouse.reviews set deleted_at = now() where id in (1, 4)');
  await ask(`insert into sync.absent_reviews (review_id, run_id) values (5, 'a-run')`);
  expect(await newestBut(warehouse.db, [3])).toEqual([2]);
  expect(await storedDates(warehouse.db)).toEqual([150, 160]);
});

test('a gap takes in those within it, and a proven span cuts what it touches', async () => {
  for (const [start, end] of [
    [0, 8],
    [10, 20],
    [20, 30],
    [40, 50],
    [25, 60],
  ] as const)
    await gap(start, end);
  const firstSeenAt = new Date('2026-01-01Z');
  await ask('update sync.open_gaps set first_seen_at = $1', [firstSeenAt]);
  const span = { start: 12, end: 14 };
  await openGap(warehouse.db, 'updated', { span, kind: 'failed', reason: 'of the other axis' });
  await gap(5, 30);
  const all = async () =>
    (await openGaps(warehouse.db)).map((one) => [one.axis, one.span.start, one.span.end, one.attempts]).toSorted();
  const others = [
    ['created', 0, 8, 1],
    ['updated', 12, 14, 1],
  ];
  expect(await all()).toEqual([...others, ['created', 5, 30, 2], ['created', 25, 60, 2]].toSorted());
  // It fails again, and waits from now.
  await ask(`update sync.open_gaps set last_tried_at = now() - interval '1 hour'`);
  await gap(5, 30);
  const again = (await openGaps(warehouse.db)).find(({ span: { start } }) => start === 5);
  expect(Date.now() - (again?.lastTriedAt.getTime() ?? 0)).toBeLessThan(30 * 60_000);
  await closeGaps(warehouse.db, 'created', { start: 8, end: 40 });
  expect(await all()).toEqual([...others, ['created', 5, 8, 3], ['created', 40, 60, 2]].toSorted());
  // Each is as old as the oldest that it has taken in, or is left of.
  const created = (await openGaps(warehouse.db)).filter(({ axis }) => axis === 'created');
  expect(created.map((one) => one.firstSeenAt)).toEqual([firstSeenAt, firstSeenAt, firstSeenAt]);
  const said = '4 spans of reviews are not read; see review-sync status. The first: 0';
  expect(gapsProblem(await openGaps(warehouse.db))).toBe(said);

  // Two gaps within one span leave one gap.
  for (const start of [100, 200]) await gap(start, 300);
  await closeGaps(warehouse.db, 'created', { start: 100, end: 250 });
  expect((await all()).filter(([, start]) => Number(start) >= 100)).toEqual([['created', 250, 300, 1]]);
});

test('a clock that was ahead for one run hides no overview that is captured later', async () => {
  const capture = (aheadMs: number, last: string) => {
    const capturedAt = new Date(Date.now() + aheadMs);
    return recordOverview(warehouse.db, { capturedAt, first: '2026-03-01T12:00:00.000Z', last });
  };
  await capture(20 * 3_600_000, '2026-03-02T12:00:00.000Z');
  // The clock of the warehouse has microseconds.
  await capture(1, '2026-03-03T12:00:00.000Z');
  const [, last] = await namedDates(warehouse.db);
  expect(last).toEqual(new Date('2026-03-03T12:00:00.000Z'));
});
