import { beforeEach, expect, test } from 'vitest';
import { advanceCursor, type Cursor, dailyCounts, readCursor } from '../../src/warehouse/runs/cursors.ts';
import {
  beginRun,
  finishRun,
  lastRuns,
  newestEnded,
  type RunOutcome,
  type RunReason,
  unfinishedSince,
} from '../../src/warehouse/runs/runs.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';
import { runOf } from '../harness/world.ts';

const { ask, db } = await openTestWarehouse();
beforeEach(() => ask('truncate sync.runs cascade'));

const now = new Date('2026-03-10T00:00:00Z');
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000);

/**
 * Runs of one backfill by the days since they began: `3 failed, 1` is a run that failed and one that is open. `UTC`: it
 * read dates in that zone.
 */
test.each<[claim: string, past: string, since: number | undefined]>([
  ['nothing was begun', '', undefined],
  ['a run that ended done is not continued', '1 done', undefined],
  ['a run of which steps failed is continued', '1 incomplete steps-failed', 1],
  ['a run that read everything, and met bad records, is not continued', '1 incomplete dead-letters', undefined],
  ['a run that failed, that was abandoned, or that is still open is continued', '3 failed, 2 abandoned, 1', 3],
  ['only what began after the last run that ended done is continued', '4 failed, 3 done, 2 failed, 1 failed', 2],
  ['what began more than seven days ago is read again', '8 failed, 6 failed', 6],
  ['what read dates in another time zone is not continued', '4 failed UTC, 3 failed, 2 failed UTC, 1 failed UTC', 2],
])('%s', async (_, past, since) => {
  const begin = async (id: string, key: string, startedAt: Date, timeZone = 'Asia/Seoul') => {
    const run = runOf('backfill-reviews', { id, key });
    await beginRun(db, { ...run, systems: { ...run.systems, timeZone } });
    await ask('update sync.runs set started_at = $2 where id = $1', [id, startedAt]);
  };
  await begin('other', 'backfill-reviews_2024-01-01_last', daysAgo(5));
  for (const run of past.split(', ').filter(Boolean)) {
    const zone = run.endsWith(' UTC') ? 'UTC' : undefined;
    const [days, outcome, reason] = run.replace(' UTC', '').split(' ') as [string, RunOutcome?, RunReason?];
    await begin(`run-${days}`, 'backfill-reviews_first_last', daysAgo(Number(days)), zone);
    if (outcome) await finishRun(db, `run-${days}`, { outcome, ...(reason && { reason }) });
  }
  expect(await unfinishedSince(db, 'backfill-reviews_first_last', now)).toEqual(
    since === undefined ? undefined : daysAgo(since),
  );
});

test('what a flow brought is counted by 24 hours; a day without a run is unknown', async () => {
  await ask(
    `insert into sync.runs (id, job, started_by, started_at, finished_at, outcome, counts)
    select gen_random_uuid(), job, 'command', at, at, outcome, jsonb_build_object('orders_pushed', orders)
    from (values (0, 'sync-orders', 'done', 3), (23, 'sync-orders', 'incomplete', 4), (24, 'sync-orders', 'done', 5),
      (359, 'sync-orders', 'done', 6), (1, 'sync-orders', 'failed', 100), (1, 'backfill-orders', 'done', 100),
      (1, 'sync-reviews', 'done', 0), (49, 'sync-reviews', 'done', 0)) as run (hours, job, outcome, orders)
    cross join lateral (select $1::timestamptz - hours * interval '1 hour') as moment (at)`,
    [now],
  );
  await ask(
    `insert into warehouse.reviews (id, created_at, updated_at)
    select n, $1::timestamptz - hours * interval '1 hour', now() from unnest(array[0, 23, 24, 48, 71, 72]) with ordinality as t (hours, n)`,
    [now],
  );
  expect(await dailyCounts(db, now)).toEqual([
    { flow: 'orders', days: [7, 5, ...Array(12).fill(null), 6] },
    { flow: 'reviews', days: [2, null, 2, ...Array(12).fill(null)] },
  ]);
  await ask(
    `with overview as (
      insert into warehouse.review_overview (captured_at, first_review_created_at, last_review_created_at) values ($2, $3, $2))
    insert into sync.export_windows (axis, start_at, end_at, run_id, pages, reviews, requests, started_at, finished_at)
    values ('created', $1, $2, 'first', 1, 0, 1, $2, $2)`,
    [daysAgo(5), now, daysAgo(20)],
  );
  const [, reviews] = await dailyCounts(db, now);
  expect(reviews).toEqual({ flow: 'reviews', days: [2, 1, 2, 1, ...Array(11).fill(null)] });
});

test('a run that begins once more keeps its start, and its end; open runs come first', async () => {
  const begun = (id: string) => runOf('backfill-reviews', { id, key: id, startedBy: 'command' });
  const how = { outcome: 'incomplete', reason: 'problem', error: 'an error', counts: { inserted: 7 } } as const;
  await beginRun(db, begun('old'));
  for (const id of ['new', 'new']) expect(await beginRun(db, begun(id))).toBe(true);
  await finishRun(db, 'new', how);
  const [open, first] = await lastRuns(db, 2);
  expect(await beginRun(db, begun('new'))).toBe(true);
  await finishRun(db, 'new', { outcome: 'done' });
  expect(await lastRuns(db, 2)).toEqual([open, first]);
  expect([open, first]).toMatchObject([
    { id: 'old', finishedAt: null },
    { id: 'new', ...how },
  ]);
});

test('of two runs that end in either order, the cursor keeps the further place', async () => {
  const early: Cursor = { at: '2026-01-01 00:00:00.000001+00', readTo: '2026-01-01T00:05:00.000Z' };
  const late: Cursor = { at: '2026-01-01 00:00:00.000002+00', readTo: '2026-01-01T00:01:00.000Z' };
  const both = { ...late, readTo: early.readTo };
  await advanceCursor(db, 'orders', early);
  await advanceCursor(db, 'orders', late);
  expect(await readCursor(db, 'orders')).toEqual(both);
  await advanceCursor(db, 'orders', early);
  expect(await readCursor(db, 'orders')).toEqual(both);
});

test('a cursor that a clock has put hours ahead goes with the correction of the clock', async () => {
  const iso = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const right = { at: iso(-1), readTo: iso(-1) };
  for (const cursor of [{ at: iso(8), readTo: iso(9) }, right]) await advanceCursor(db, 'reviews', cursor);
  expect(await readCursor(db, 'reviews')).toEqual(right);
});

test('a run that was stopped is not the newest', async () => {
  await ask(`
    insert into sync.runs (id, job, started_by, started_at, finished_at, outcome) values
      ('right', 'sync-reviews', 'schedule', now() - interval '1 hour', now(), 'done'),
      ('stopped', 'sync-reviews', 'command', now(), now(), 'abandoned'),
      ('open', 'sync-reviews', 'command', now(), null, null)`);
  expect(await newestEnded(db)).toMatchObject([{ id: 'right' }]);
});
