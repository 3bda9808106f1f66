import { expect, test } from 'vitest';
import { syncReviews } from '../../jobs/sync-reviews.ts';
import type { App } from '../../src/app/app.ts';
import { openLog } from '../../src/base/log.ts';
import { dailyCounts } from '../../src/warehouse/runs/daily-counts.ts';
import { beginRun, endOfRun, finishRun, lastRuns, unfinishedSince } from '../../src/warehouse/runs/runs.ts';
import type { RunOutcome, RunReason } from '../../src/warehouse/schema.ts';
import { openTestWarehouse } from '../harness/test-warehouse.ts';

const now = new Date('2026-03-10T00:00:00Z');
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000);
type Past = [days: number, outcome: RunOutcome | null, reason?: RunReason];

test.each<[claim: string, past: Past[], since: number | undefined]>([
  ['nothing was begun', [], undefined],
  ['a run that ended done is not continued', [[1, 'done']], undefined],
  ['a run of which steps failed is continued', [[1, 'incomplete', 'steps-failed']], 1],
  ['a run that read everything, and met bad records, is not continued', [[1, 'incomplete', 'dead-letters']], undefined],
  [
    'a run that failed, that was abandoned, or that is still open is continued',
    [
      [3, 'failed'],
      [2, 'abandoned'],
      [1, null],
    ],
    3,
  ],
  [
    'only what began after the last run that ended done is continued',
    [
      [4, 'failed'],
      [3, 'done'],
      [2, 'failed'],
      [1, 'failed'],
    ],
    2,
  ],
  [
    'what began more than seven days ago is read again',
    [
      [8, 'failed'],
      [6, 'failed'],
    ],
    6,
  ],
])('%s', async (_, past, since) => {
  const { warehouse } = await openTestWarehouse();
  const begin = (id: string, key: string, startedAt: Date) =>
    beginRun(warehouse.db, { id, key, job: 'backfill-reviews', trigger: 'command', startedAt });
  await begin('other', 'backfill-reviews_2024-01-01_last', daysAgo(5));
  for (const [days, outcome, reason] of past) {
    const id = `run-${days}`;
    await begin(id, 'backfill-reviews_first_last', daysAgo(days));
    const end = { finishedAt: daysAgo(days - 0.5), counts: {}, ...(reason && { reason }) };
    if (outcome) await finishRun(warehouse.db, id, { ...end, outcome });
  }
  expect(await unfinishedSince(warehouse.db, 'backfill-reviews_first_last', now)).toEqual(
    since === undefined ? undefined : daysAgo(since),
  );
});

test('a run that ends while the next one looks at it keeps its end, and the next one starts after it', async () => {
  const { warehouse } = await openTestWarehouse();
  let clock = now.getTime();
  const tick = () => {
    clock += 1000;
    return new Date(clock);
  };
  const run = (id: string, startedAt: Date) => ({ id, key: undefined, trigger: 'schedule' as const, startedAt });
  await beginRun(warehouse.db, { ...run('first', tick()), job: syncReviews.name });

  const app = { warehouse, now: tick, log: openLog('silent') } as unknown as App;
  warehouse.knownProducts.set('a code', 1);
  const begun = await syncReviews.begin(app, run('second', tick()), async () => {
    // Its row was read as open; now it ends, and its job with it.
    await finishRun(warehouse.db, 'first', { finishedAt: tick(), outcome: 'done', counts: { inserted: 7 } });
    return false;
  });
  expect(begun).toBe(true);
  // A warehouse that was restored meanwhile lacks what this process has stored in it.
  expect(warehouse.knownProducts.size).toBe(0);
  const runs = await lastRuns(warehouse.db, 2);
  const [first, second] = ['first', 'second'].map((id) => runs.find((one) => one.id === id));
  expect(first).toMatchObject({ outcome: 'done', counts: { inserted: 7 } });
  expect(second?.startedAt.getTime()).toBeGreaterThan(first?.finishedAt?.getTime() ?? Number.POSITIVE_INFINITY);
});

test('a run whose job the queue has lost has failed, and its error says so', async () => {
  const { warehouse } = await openTestWarehouse();
  const run = { key: undefined, trigger: 'command' as const, startedAt: now };
  await beginRun(warehouse.db, { ...run, id: 'lost', job: 'backfill-orders' });
  const app = { warehouse, now: () => now, log: openLog('silent') } as unknown as App;
  await syncReviews.begin(app, { ...run, id: 'next' }, async () => false);
  const lost = (await lastRuns(warehouse.db, 2)).find(({ id }) => id === 'lost');
  expect(lost).toMatchObject({ outcome: 'failed', error: expect.stringContaining('run it again') });
});

test('what a flow brought is counted by the last 24 hours, the 24 before, and so on; a day without a run is unknown', async () => {
  const { warehouse } = await openTestWarehouse();
  const ended = (hours: number, job: string, outcome: string, orders: number) =>
    warehouse.pool.query(
      `insert into sync.runs (id, job, started_by, started_at, finished_at, outcome, counts)
      values (gen_random_uuid(), $2, 'command', $1, $1, $3, jsonb_build_object('orders_pushed', $4::integer))`,
      [daysAgo(hours / 24), job, outcome, orders],
    );
  await ended(0, 'sync-orders', 'done', 3);
  await ended(23, 'sync-orders', 'incomplete', 4);
  await ended(24, 'sync-orders', 'done', 5);
  await ended(359, 'sync-orders', 'done', 6);
  await ended(1, 'sync-orders', 'failed', 100);
  await ended(1, 'backfill-orders', 'done', 100);
  for (const hours of [1, 49]) await ended(hours, 'sync-reviews', 'done', 0);
  for (const [id, hours] of [0, 23, 24, 48, 71, 72].entries())
    await warehouse.pool.query('insert into warehouse.reviews (id, created_at, updated_at) values ($1, $2, now())', [
      id,
      daysAgo(hours / 24),
    ]);
  expect(await dailyCounts(warehouse.db, now)).toEqual([
    { flow: 'orders', days: [7, 5, ...Array(12).fill(null), 6] },
    { flow: 'reviews', days: [2, null, 2, ...Array(12).fill(null)] },
  ]);
});

test('a run that begins once more keeps its start; one that has ended stays as it is, and comes after those that have not', async () => {
  const { db } = (await openTestWarehouse()).warehouse;
  const begun = { job: 'backfill-reviews', trigger: 'command', key: 'key' } as const;
  const begin = (id: string, startedAt: Date) => beginRun(db, { ...begun, id, startedAt });
  const how = { outcome: 'incomplete', reason: 'problem', error: 'an error', counts: { inserted: 7 } } as const;
  const nothing = { finishedAt: null, outcome: null, reason: null, error: null, counts: {} };
  await begin('old', daysAgo(9));
  await begin('new', daysAgo(1));
  expect(await endOfRun(db, 'new')).toBeUndefined();
  await finishRun(db, 'new', { finishedAt: now, ...how });
  for (const id of ['old', 'new']) await begin(id, now);
  await finishRun(db, 'new', { finishedAt: now, outcome: 'done' });
  expect(await endOfRun(db, 'new')).toEqual(how);
  expect(await lastRuns(db, 2)).toEqual([
    { ...begun, id: 'old', startedAt: daysAgo(9), ...nothing },
    { ...begun, id: 'new', startedAt: daysAgo(1), finishedAt: now, ...how },
  ]);
});
