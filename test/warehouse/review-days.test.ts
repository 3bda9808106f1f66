import { afterEach, beforeEach, expect, test } from 'vitest';
import { coverageByMonth } from '../../src/warehouse/coverage.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/index.ts';
import { compactReviewDays } from '../../src/warehouse/review-days.ts';
import { createDatabase } from '../harness/database.ts';

let warehouse: Warehouse;
beforeEach(async () => {
  warehouse = await openWarehouse({ url: await createDatabase('migrated'), connections: 2 });
});
afterEach(() => warehouse.close());

const run = (text: string) => warehouse.pool.query(text);
const counted = async () =>
  (
    await run(`select day::text, sum(reviews)::integer as reviews from sync.review_day_changes
      group by day having sum(reviews) <> 0 order by day`)
  ).rows;
const actual = async () =>
  (
    await run(`select (created_at at time zone (select time_zone from sync.settings))::date::text as day,
      count(*)::integer as reviews from warehouse.reviews where deleted_at is null group by 1 order by 1`)
  ).rows;

test('the counts by day follow whatever changes the reviews, and joining them changes no count', async () => {
  const steps = [
    `insert into warehouse.reviews (id, created_at, updated_at)
     select n, timestamptz '2026-01-01T10:00:00Z' + n * interval '7 hours', now() from generate_series(1, 40) n`,
    'update warehouse.reviews set deleted_at = now() where id % 3 = 0',
    `update warehouse.reviews set created_at = created_at + interval '1 day' where id % 5 = 0`,
    'update warehouse.reviews set deleted_at = null where id % 6 = 0',
    'update warehouse.reviews set likes_count = 1',
    'delete from warehouse.reviews where id between 10 and 14',
    `insert into warehouse.reviews (id, created_at, updated_at) values (1, now(), now()), (99, '2026-02-01T00:00:00Z', now())
     on conflict (id) do update set created_at = '2025-12-31T00:00:00Z'`,
    `update sync.settings set time_zone = 'America/New_York'`,
  ];
  for (const step of steps) {
    await run(step);
    expect(await counted()).toEqual(await actual());
    await compactReviewDays(warehouse.db);
    expect(await counted()).toEqual(await actual());
  }
  expect(await actual()).not.toEqual([]);
  const { rows } = await run(
    'select count(*)::integer as rows, count(distinct day)::integer as days from sync.review_day_changes',
  );
  expect(rows[0].rows).toBe(rows[0].days);
  await run('truncate warehouse.reviews');
  expect(await counted()).toEqual([]);
});

test('the months of the coverage count reviews by these counts, and end where dates are no longer plausible', async () => {
  await run(`insert into warehouse.review_overview values (now(), '0001-01-01T00:00:00Z', '9999-12-31T00:00:00Z')`);
  await run(`insert into warehouse.reviews (id, created_at, updated_at) values (1, '2024-02-03T00:00:00Z', now()),
    (2, '2024-02-04T00:00:00Z', now()), (3, '9999-01-01T00:00:00Z', now())`);
  const months = await coverageByMonth(warehouse.db, 'Asia/Seoul');
  expect(months[0]).toMatchObject({ month: '2000-01', days: 31 });
  expect(months.length).toBeLessThan(12 * 200);
  expect(months.filter(({ reviews }) => reviews > 0)).toMatchObject([{ month: '2024-02', reviews: 2 }]);
  expect(months.at(-1)?.month).toBe(new Date(Date.now() + 33 * 3_600_000).toISOString().slice(0, 7));
});
