import { expect, onTestFinished } from 'vitest';
import { readConfig } from '../../src/app/config.ts';
import { statusReport } from '../../src/app/status-report.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { worldTest as test } from '../harness/world.ts';

/** What ninety days of the default schedule leave, `bench:state` shows it: runs, captures, spans, applied webhooks. */
const ninetyDays = `
  insert into sync.runs (id, job, started_by, started_at, finished_at, outcome, counts)
  select job || '-' || n, job, 'schedule', at, at + interval '1 second', 'done', '{"orders_pushed": 1}'
  from (values ('sync-orders', 288), ('sync-reviews', 96), ('sync-catalog', 24), ('reconcile-reviews', 1), ('rescan-orders', 1))
    as jobs (job, a_day)
  cross join lateral generate_series(1, 90 * a_day) n
  cross join lateral (select now() - n * interval '1 day' / a_day) as moment (at);
  insert into sync.export_windows (run_id, axis, start_at, end_at, pages, reviews, requests, started_at, finished_at)
  select 'sync-reviews-' || n, 'updated', now() - (n + 4) * interval '15 minutes', now() - n * interval '15 minutes', 1, 1, 1, now(), now()
  from generate_series(0, 38 * 96) n;
  insert into warehouse.review_overview (captured_at, first_review_created_at, last_review_created_at)
  select now() - n * interval '15 minutes', now() - interval '2 years', now() - n * interval '15 minutes' from generate_series(0, 90 * 96) n`;

test('what a status report reads hardly grows with the years of runs', async ({ world }) => {
  const config = readConfig(world.environment);
  const warehouse = await openWarehouse({ url: world.warehouseUrl, connections: 1 });
  onTestFinished(() => warehouse.close());
  const read = async () => {
    await warehouse.pool.query('select pg_stat_force_next_flush()');
    const { rows } = await warehouse.pool.query(
      'select pg_stat_get_db_blocks_fetched(oid)::integer as pages from pg_database where datname = current_database()',
    );
    return rows[0].pages as number;
  };
  const cost = async () => {
    const queues = new Error('not asked');
    await statusReport({ warehouse, config, now: () => new Date(), queues });
    const before = await read();
    const report = await statusReport({ warehouse, config, now: () => new Date(), queues });
    return { pages: (await read()) - before, report };
  };
  expect((await cost()).pages).toBeGreaterThan(10);
  // On the same connection: another one may add to the statistics later what it has read.
  for (const text of [ninetyDays, 'vacuum analyze']) await warehouse.pool.query(text);
  const { pages, report } = await cost();
  expect(report.runs).toHaveLength(20);
  expect(report.newest).toHaveLength(5);
  // 930 on Postgres 18. Sorting all runs would make it 2,500.
  expect(pages).toBeLessThan(1500);
});
