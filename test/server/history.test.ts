import { afterEach, beforeEach, expect, test } from 'vitest';
import { worstLag } from '../../src/server/page/charts.ts';
import { readHistory } from '../../src/server/views.ts';
import { recountAll } from '../../src/warehouse/bi/recount.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/index.ts';
import { windowTotals } from '../../src/warehouse/reviews/export-windows.ts';
import { withStatementTimeout } from '../../src/warehouse/runs/history.ts';
import { createDatabase } from '../harness/database.ts';

let warehouse: Warehouse;
beforeEach(async () => {
  warehouse = await openWarehouse({ url: await createDatabase('migrated'), connections: 2 });
});
afterEach(() => warehouse.close());

const run = (text: string) => warehouse.pool.query(text);
const zone = 'Asia/Seoul';
/** 02:00 of 2026-11-22 in Seoul. */
const now = new Date('2026-11-21T17:00:00Z');
const history = () => readHistory(warehouse.db, zone, now);

test('an empty warehouse gives thirty days of nothing', async () => {
  const { reviews, orders, deadLetters, coverage, lag } = await history();
  expect(reviews).toHaveLength(30);
  expect(reviews.at(0)).toEqual({ day: '2026-10-24', stored: 0, refused: 0 });
  expect(reviews.at(-1)?.day).toBe('2026-11-22');
  expect(orders.at(-1)).toEqual({ day: '2026-11-22', runs: 0, pushed: 0, failed: 0, deleted: 0, unchanged: 0 });
  expect([deadLetters, coverage, lag.spans]).toEqual([[], [], []]);
});

test('reviews count for the day of the service’s zone on which they were written: stored, or refused', async () => {
  await run(`insert into warehouse.reviews (id, created_at, updated_at, deleted_at) values
    (1, '2026-11-21T16:00:00Z', now(), null), (2, '2026-11-20T14:59:59Z', now(), null), (3, '2026-11-20T15:00:00Z', now(), null),
    (4, '2026-11-20T15:00:00Z', now(), now()), (5, '2020-01-01T00:00:00Z', now(), null)`);
  await recountAll(warehouse.db);
  await run(`insert into sync.dead_letters (kind, key, reason, payload, first_failed_at, resolved_at) values
    ('review', '7', 'x', '{}', '2026-11-20T15:00:00Z', null), ('review', '8', 'x', '{}', '2026-11-20T15:00:00Z', now()),
    ('order', 'A', 'x', '{}', '2026-11-20T15:00:00Z', null)`);
  const { reviews } = await history();
  expect(reviews.slice(-3)).toEqual([
    { day: '2026-11-20', stored: 1, refused: 0 },
    { day: '2026-11-21', stored: 1, refused: 1 },
    { day: '2026-11-22', stored: 1, refused: 0 },
  ]);
});

test('orders count for the day on which their run ended, of every job that pushes orders', async () => {
  const counts = '{"orders_pushed": 2, "orders_failed": 1, "orders_deleted": 3, "orders_unchanged": 4}';
  await run(`insert into sync.runs (id, job, trigger, started_at, finished_at, outcome, counts) values
    ('a', 'sync-orders', 'schedule', '2026-11-20T23:00:00Z', '2026-11-21T01:00:00Z', 'done', '${counts}'),
    ('b', 'rescan-orders', 'schedule', '2026-11-20T14:00:00Z', '2026-11-20T15:00:00Z', 'incomplete', '${counts}'),
    ('c', 'backfill-orders', 'command', '2026-11-18T14:00:00Z', '2026-11-20T15:00:00Z', 'done', '{"orders_pushed": 1000000000}'),
    ('d', 'sync-orders', 'schedule', '2026-11-20T14:00:00Z', '2026-11-20T15:00:00Z', 'failed', '{}'),
    ('e', 'sync-reviews', 'schedule', '2026-11-20T14:00:00Z', '2026-11-20T15:00:00Z', 'done', '${counts}')`);
  const { orders } = await history();
  expect(orders.at(-2)).toEqual({
    day: '2026-11-21',
    runs: 3,
    pushed: 1_000_000_004,
    failed: 2,
    deleted: 6,
    unchanged: 8,
  });
});

test('a dead letter is open on every day from its first failure to the day before it was closed', async () => {
  await run(`insert into sync.dead_letters (kind, key, reason, payload, first_failed_at, resolved_at) values
    ('review', '1', 'x', '{}', '2020-01-01T00:00:00Z', null),
    ('review', '2', 'x', '{}', '2026-11-19T15:00:00Z', '2026-11-21T14:59:59Z'),
    ('order', '3', 'x', '{}', '2026-11-21T15:00:00Z', null),
    ('order', '4', 'x', '{}', '2026-11-20T01:00:00Z', '2026-11-20T02:00:00Z'),
    ('webhook', '5', 'x', '{}', '2020-01-01T00:00:00Z', '2026-01-01T00:00:00Z')`);
  const { deadLetters } = await history();
  expect(deadLetters.filter(({ kind }) => kind === 'review').map(({ open }) => open)).toEqual([
    ...Array.from({ length: 27 }, () => 1),
    2,
    1,
    1,
  ]);
  expect(deadLetters.filter(({ kind }) => kind !== 'review')).toEqual([{ day: '2026-11-22', kind: 'order', open: 1 }]);
});

test('the lag comes from the runs that moved a cursor, back to the last one before the week', async () => {
  await run(`insert into sync.runs (id, job, trigger, started_at, finished_at, outcome, reason) values
    ('old', 'sync-orders', 'schedule', '2026-10-01T00:00:00Z', '2026-10-01T00:10:00Z', 'done', null),
    ('failed', 'sync-orders', 'schedule', '2026-11-16T00:00:00Z', '2026-11-16T00:10:00Z', 'failed', null),
    ('steps', 'sync-orders', 'schedule', '2026-11-16T01:00:00Z', '2026-11-16T01:10:00Z', 'incomplete', 'steps-failed'),
    ('letters', 'sync-orders', 'schedule', '2026-11-20T12:00:00Z', '2026-11-20T12:10:00Z', 'incomplete', 'dead-letters'),
    ('reviews', 'sync-reviews', 'schedule', '2026-11-20T12:00:00Z', '2026-11-20T12:10:00Z', 'incomplete', 'steps-failed')`);
  const { lag } = await history();
  const [orders, reviews] = ['sync-orders', 'sync-reviews'].map((job) =>
    worstLag(
      lag.spans.filter((span) => span.job === job),
      lag.from,
      now,
    ),
  );
  const day = 86_400;
  expect(lag.from.toISOString()).toBe('2026-11-14T20:00:00.000Z');
  expect(orders?.[0]).toBe(45 * day);
  // From 12:00 to 16:00 of the 20th: the run of the 1st of October was the last until 12:10.
  expect(orders?.[34]).toBe(50 * day + 12 * 3600 + 600);
  expect(orders?.at(-1)).toBe(day + 5 * 3600);
  expect(reviews?.slice(0, 34).every((seconds) => seconds === undefined)).toBe(true);
  expect(reviews?.[34]).toBe(4 * 3600);
});

test('a statement of the page that takes too long is cut off, and the connection keeps no limit', async () => {
  const slow = withStatementTimeout(warehouse.db, 50, async (trx) => {
    await trx.selectNoFrom((eb) => eb.fn<string>('pg_sleep', [eb.val(60)]).as('slept')).execute();
  });
  await expect(slow).rejects.toMatchObject({ code: '57014' });
  const { rows } = await warehouse.pool.query('show statement_timeout');
  expect(rows).toEqual([{ statement_timeout: '0' }]);
});

test('a run has the sums of its windows', async () => {
  await run(`insert into sync.export_windows
      (run_id, axis, start_at, end_at, pages, reviews, requests, started_at, finished_at) values
    ('r', 'created', '2026-01-01', '2026-02-01', 2, 150, 3, '2026-11-01T00:00:10Z', '2026-11-01T00:00:20Z'),
    ('r', 'created', '2026-02-01', '2026-03-01', 1, 50, 1, '2026-11-01T00:00:15Z', '2026-11-01T00:00:30Z'),
    ('r', 'created', '2026-03-01', '2026-04-01', 1, 50, 1, '2026-11-01T00:01:00Z', '2026-11-01T00:01:10Z'),
    ('other', 'created', '2026-03-01', '2026-04-01', 9, 999, 9, '2026-11-01T00:01:00Z', '2026-11-01T00:09:10Z')`);
  expect(await windowTotals(warehouse.db, 'r')).toEqual({ windows: 3, reviews: 250, requests: 5 });
  expect(await windowTotals(warehouse.db, 'none')).toEqual({ windows: 0, reviews: 0, requests: 0 });
});
