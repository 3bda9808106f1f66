import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { foldChanges, rebuildAggregates, wrongCounts } from '../../src/warehouse/bi/aggregates.ts';
import { prepareBi } from '../../src/warehouse/bi/bi-access.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';
import { runCli } from '../harness/cli.ts';
import { createDatabase } from '../harness/database.ts';
import { testSeed } from '../harness/sampled.ts';
import { openWorld } from '../harness/world.ts';

let warehouse: Warehouse;
beforeEach(async () => {
  warehouse = await openWarehouse({ url: await createDatabase(), connections: 5 });
});
afterEach(() => warehouse.close());

const run = async (text: string) => (await warehouse.pool.query(text)).rows;

/**
 * Creates views that read every row in the schema `by_row`: those that bi has, and answers from counts. Gives their
 * names.
 */
async function createViewsByRow(): Promise<string[]> {
  await run(await readFile(join(import.meta.dirname, 'views-by-row.sql'), 'utf8'));
  const views = await run(`
    select relname as name from pg_class
    where relnamespace = 'by_row'::regnamespace and to_regclass('bi.' || relname) is not null`);
  return views.map(({ name }) => name);
}

/** Compares each view with the one that reads every row. */
async function expectSameAsByRow(views: readonly string[], after: string): Promise<void> {
  const differing = views.map(
    (name) => `select '${name}' as view, to_jsonb(differing) as row from (
      (select 'too much' as is, * from bi.${name} except all select 'too much', * from by_row.${name})
      union all
      (select 'missing', * from by_row.${name} except all select 'missing', * from bi.${name})
    ) as differing`,
  );
  expect(await run(differing.join(' union all ')), `after: ${after}`).toEqual([]);
}

const reviews = (ids: string, salt: number) => `
  insert into warehouse.reviews (id, created_at, updated_at, score, display, images_count, videos_count, review_type, source,
    product_id, product_code, order_code, deleted_at)
  select n, timestamptz '2026-01-29T11:03:00Z' + (n * 7919 + ${salt}) % 3000 * interval '31 minutes', now(),
    (array[5, 4, 3, 2, 1, null])[1 + h % 6], (array[true, false, null])[1 + h / 2 % 3], (array[0, 2, null])[1 + h / 3 % 3],
    (array[0, 1, null])[1 + h / 5 % 3], (array['text', 'photo', 'video', 'video&photo', null])[1 + h % 5],
    (array['sms', 'email', '', null])[1 + h / 7 % 4], (array[1, 2, 3, null])[1 + h / 11 % 4],
    (array['one', 'two', '', null])[1 + h / 13 % 4], (array['o' || h % 40, null])[1 + h / 17 % 2],
    case when h % 19 = 0 then now() end
  from ${ids} as n, lateral (select (n * 2654435761 + ${salt} * 40503) % 10007 as h) as hashed
  on conflict (id) do update set created_at = excluded.created_at, score = excluded.score, product_id = excluded.product_id,
    order_code = excluded.order_code, deleted_at = null`;

const orders = (salt: number) => `
  insert into sync.order_links (order_code, order_id, ordered_at)
  select 'o' || n, n, timestamptz '2026-01-20T00:00:00Z' + n * interval '11 hours' from generate_series(1, 40) as n
  on conflict (order_code) do nothing;
  insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, status, delivered_at)
  select 'o' || n, line, case when (n + ${salt}) % 9 > 0 then n * 10 + line end, '{}', true, (array[1, 2, 3])[1 + (n + line) % 3], 'paid',
    case when (n + line + ${salt}) % 4 > 0
      then timestamptz '2026-01-25T00:00:00Z' + (n * 13 + line * 5 + ${salt}) % 60 * interval '25 hours' end
  from generate_series(1, 40) as n, generate_series(1, 3) as line
  on conflict (order_code, line_code) do update set
    sub_order_id = excluded.sub_order_id, product_id = excluded.product_id, delivered_at = excluded.delivered_at`;

test('the views of bi show what views that read every row show, whatever changes reviews and orders', async () => {
  await migrateWarehouse(warehouse.db);
  const views = await createViewsByRow();
  expect(views).toHaveLength(11);
  await run(reviews('generate_series(1, 300)', 1));
  await run(orders(1));
  await rebuildAggregates(warehouse.db);
  await expectSameAsByRow(views, 'rebuild');
  const seed = testSeed % 10_000;
  const steps = [
    reviews('generate_series(301, 420)', seed),
    'update warehouse.reviews set deleted_at = now() where id % 7 = 0',
    reviews('generate_series(200, 340)', seed + 1),
    orders(seed),
    `update warehouse.reviews set created_at = created_at - interval '40 days', product_id = 2 where id % 5 = 0`,
    'update warehouse.reviews set display = not display, images_count = 1 where id % 3 = 0',
    'delete from sync.sub_order_links where sub_order_id % 6 = 1',
    'update warehouse.reviews set order_code = null, product_code = null where id % 8 = 0',
    `update sync.settings set time_zone = 'America/Sao_Paulo'`,
    'delete from warehouse.reviews where id % 4 = 0',
    orders(seed + 2),
    `delete from sync.order_links where order_code = 'o3'; delete from sync.sub_order_links where order_code = 'o3'`,
    'update warehouse.reviews set deleted_at = now(), score = 1',
    'update warehouse.reviews set deleted_at = null where id % 2 = 0',
    'truncate sync.sub_order_links',
    orders(seed + 3),
    'truncate warehouse.reviews',
    reviews('generate_series(1, 50)', seed + 4),
  ];
  for (const [index, step] of steps.entries()) {
    await run(step);
    await expectSameAsByRow(views, step);
    // Every second change is folded on its own, the others together with the next one.
    if (index % 2 === 0) continue;
    await foldChanges(warehouse.db);
    await expectSameAsByRow(views, `${step}; fold`);
    expect(await run('table sync.review_changes')).toEqual([]);
    expect(await run('table sync.order_changes')).toEqual([]);
  }
  expect(await wrongCounts(warehouse.db)).toEqual([]);
  expect(
    await run('select 1 from bi.reviews_per_delivered_sub_order where median_days_to_review is not null'),
  ).not.toEqual([]);
});

test('writers and folds at the same time leave exact counts', async () => {
  await migrateWarehouse(warehouse.db);
  await run(orders(1));
  let isWriting = true;
  const folding = [1, 2].map(async () => {
    while (isWriting) await foldChanges(warehouse.db);
  });
  // Both writers change the same orders: one their reviews, the other their deliveries.
  const landing = (async () => {
    for (let at = 0; at < 600; at += 30) await run(reviews(`generate_series(${at}, ${at + 60})`, at));
  })();
  const pushing = (async () => {
    for (let salt = 0; salt < 20; salt += 1) await run(orders(salt));
  })();
  await Promise.all([landing, pushing]);
  isWriting = false;
  await Promise.all(folding);
  expect(await wrongCounts(warehouse.db)).toEqual([]);
  await foldChanges(warehouse.db);
  expect(await wrongCounts(warehouse.db)).toEqual([]);
  expect((await run('select sum(reviews)::integer as n from sync.delivery_counts'))[0].n).toBeGreaterThan(10);
});

test('of two folds at the same time the second does nothing, and what is logged meanwhile is folded by the next', async () => {
  await migrateWarehouse(warehouse.db);
  await run(orders(1));
  await run(reviews('generate_series(1, 60)', 1));
  const first = await warehouse.pool.connect();
  try {
    await first.query('begin; select sync.fold_changes()');
    await run(orders(2));
    const results = (await warehouse.pool.query(
      `begin; set local lock_timeout = '5s'; select sync.fold_changes() as folded; commit`,
    )) as unknown as { rows: unknown[] }[];
    expect(results[2]?.rows).toEqual([{ folded: null }]);
    await first.query('commit');
  } finally {
    first.release();
  }
  await foldChanges(warehouse.db);
  expect(await run('select * from sync.order_changes')).toEqual([]);
  expect(await wrongCounts(warehouse.db)).toEqual([]);
});

test.each([
  [
    'update sync.review_day_counts set reviews = reviews + 1 where day = (select min(day) from sync.review_day_counts)',
    'reviews by day',
  ],
  [
    'delete from sync.review_product_counts where month = (select min(month) from sync.review_product_counts)',
    'reviews by product and month',
  ],
  ['update sync.counted_deliveries set stars = stars + 1', 'counted deliveries'],
  ['insert into sync.delivery_counts values (current_date, 1, 1, 0, 0)', 'deliveries by product and month'],
  ['update sync.delivery_delays set deliveries = 2 * deliveries', 'time to review'],
  [
    'alter table warehouse.reviews disable trigger review_changes_delete; delete from warehouse.reviews where order_code is null',
    'reviews by day',
  ],
])('a wrong count is found, named, and gone after a rebuild: %s', async (harm, name) => {
  await migrateWarehouse(warehouse.db);
  await run(reviews('generate_series(1, 60)', 3));
  await run(orders(3));
  await foldChanges(warehouse.db);
  expect(await wrongCounts(warehouse.db)).toEqual([]);
  await run(harm);
  const wrong = await wrongCounts(warehouse.db);
  expect(wrong.map((one) => one.name)).toContain(name);
  await rebuildAggregates(warehouse.db);
  expect(await wrongCounts(warehouse.db)).toEqual([]);
});

test('runs fold what they changed; verify compares the counts with the rows, exits with 1, and repairs', async () => {
  await using world = await openWorld();
  await runCli(['sync', 'reviews'], world.environment);
  await runCli(['sync', 'orders'], world.environment);
  expect(await world.warehouse('table sync.changed_orders')).toEqual([]);
  const [counted] = await world.warehouse<{ n: number }>(
    'select sum(reviews)::integer as n from sync.review_day_counts',
  );
  expect(counted?.n).toBe(200);
  const spoil = () => world.warehouse('update sync.review_day_counts set reviews = reviews + 1');
  await spoil();
  const found = await runCli(['verify', 'reviews'], world.environment);
  expect(found).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/counts behind the views of bi differ.*reviews by day/),
  });
  expect(found.stdout).toContain('migrate --rebuild');
  expect(await runCli(['verify', 'reviews', '--repair'], world.environment)).toMatchObject({ status: 0 });
  const after = await runCli(['verify', 'reviews', '--json'], world.environment);
  expect([after.status, JSON.parse(after.stdout).wrongCounts]).toEqual([0, []]);
  await spoil();
  expect(await runCli(['migrate', '--rebuild'], world.environment)).toMatchObject({ status: 0 });
  expect(await runCli(['verify', 'reviews'], world.environment)).toMatchObject({ status: 0 });
});

test('migrate counts nothing again and marks no month as changed while the time zone stays', async () => {
  await migrateWarehouse(warehouse.db);
  await prepareBi(warehouse, { timeZone: 'Asia/Seoul' });
  await run(reviews('generate_series(1, 60)', 3));
  await foldChanges(warehouse.db);
  await run('update sync.review_day_counts set reviews = reviews + 1');
  const versions = () => run('select * from sync.month_changes order by id');
  const before = await versions();
  await prepareBi(warehouse, { timeZone: 'Asia/Seoul' });
  expect(await versions()).toEqual(before);
  expect((await wrongCounts(warehouse.db)).map(({ name }) => name)).toEqual(['reviews by day']);
  await prepareBi(warehouse, { timeZone: 'UTC' });
  expect(await wrongCounts(warehouse.db)).toEqual([]);
});
