import { afterEach, beforeEach, expect, test } from 'vitest';
import { recountAll } from '../../src/warehouse/bi/recount.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/index.ts';
import { coverageByDay, coverageByMonth } from '../../src/warehouse/reviews/coverage.ts';
import { reviewsByDay } from '../../src/warehouse/runs/history.ts';
import { createDatabase } from '../harness/database.ts';

let warehouse: Warehouse;
beforeEach(async () => {
  warehouse = await openWarehouse({ url: await createDatabase('migrated'), connections: 2 });
});
afterEach(() => warehouse.close());

const run = (text: string) => warehouse.pool.query(text);
const days = { first: '2025-12-30', last: '2026-03-01', timeZone: 'Asia/Seoul' };

test('page and calendar show the reviews of each day', async () => {
  await run(`insert into warehouse.review_overview values (now(), '2025-12-01T00:00:00Z', '2026-05-01T00:00:00Z')`);
  await run(`insert into warehouse.reviews (id, created_at, updated_at, deleted_at)
    select n, timestamptz '2026-01-01T10:00:00Z' + n * interval '7 hours', now(), case when n % 3 = 0 then now() end
    from generate_series(1, 40) n`);
  await recountAll(warehouse.db);
  const { rows } = await run(`
    select to_char(days.day, 'YYYY-MM-DD') as day, count(r.id)::integer as reviews
    from generate_series('${days.first}'::timestamp, '${days.last}', interval '1 day') as days (day)
    left join warehouse.reviews r on deleted_at is null and (created_at at time zone 'Asia/Seoul')::date = days.day
    group by 1 order by 1`);
  expect(rows.filter(({ reviews }) => reviews > 0).length).toBeGreaterThan(5);
  const onPage = await reviewsByDay(warehouse.db, days);
  expect(onPage.map(({ day, stored }) => ({ day, reviews: stored }))).toEqual(rows);
  const inCalendar = await coverageByDay(warehouse.db, days);
  expect(inCalendar.map(({ day, reviews }) => ({ day, reviews }))).toEqual(rows);
});

test('the months of the coverage count reviews by these counts, and end where dates are no longer plausible', async () => {
  await run(`insert into warehouse.review_overview values (now(), '0001-01-01T00:00:00Z', '9999-12-31T00:00:00Z')`);
  await run(`insert into warehouse.reviews (id, created_at, updated_at) values (1, '2024-02-03T00:00:00Z', now()),
    (2, '2024-02-04T00:00:00Z', now()), (3, '9999-01-01T00:00:00Z', now())`);
  await recountAll(warehouse.db);
  const months = await coverageByMonth(warehouse.db);
  expect(months[0]).toMatchObject({ month: '2000-01', days: 31 });
  expect(months.length).toBeLessThan(12 * 200);
  expect(months.filter(({ reviews }) => reviews > 0)).toMatchObject([{ month: '2024-02', reviews: 2 }]);
  expect(months.at(-1)?.month).toBe(new Date(Date.now() + 33 * 3_600_000).toISOString().slice(0, 7));
});
