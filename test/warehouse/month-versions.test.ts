import { afterEach, beforeEach, expect, test } from 'vitest';
import { foldChanges, rebuildAggregates, wrongCounts } from '../../src/warehouse/bi/aggregates.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/index.ts';
import { compactMonthChanges } from '../../src/warehouse/runs/retention.ts';
import { createDatabase } from '../harness/database.ts';
import { until } from '../harness/patience.ts';

let warehouse: Warehouse;
beforeEach(async () => {
  warehouse = await openWarehouse({ url: await createDatabase('migrated'), connections: 6 });
});
afterEach(() => warehouse.close());

const run = async (text: string) => (await warehouse.pool.query(text)).rows;

/** The versions of the months with reviews or sub-orders, by `yyyy-mm`; `none`: orders without a date. */
async function versions(relation: 'reviews' | 'sub_orders' = 'reviews'): Promise<Map<string, string>> {
  const rows = await run(
    `select coalesce(to_char(month, 'YYYY-MM'), 'none') as month, version::text
    from sync.month_versions where relation = '${relation}'`,
  );
  return new Map(rows.map(({ month, version }) => [month, version]));
}

const reviews = `
  insert into warehouse.reviews (id, created_at, updated_at, score, likes_count, order_code, deleted_at) values
    (1, '2026-01-10T00:00:00Z', now(), 1, 0, 'one', null), (2, '2026-01-20T00:00:00Z', now(), 2, 0, 'two', null),
    (3, '2026-02-10T00:00:00Z', now(), 3, 0, null, null), (4, '2026-03-10T00:00:00Z', now(), 4, 0, null, null),
    (5, '2026-03-11T00:00:00Z', now(), 4, 0, null, now())`;

const changes: readonly [name: string, statement: string, months: string[]][] = [
  ['a rating', 'update warehouse.reviews set score = 5 where id = 2', ['2026-01']],
  ['likes, which no count shows', 'update warehouse.reviews set likes_count = 9 where id <= 3', ['2026-01', '2026-02']],
  ['the month', `update warehouse.reviews set created_at = '2026-02-11' where id = 2`, ['2026-01', '2026-02']],
  ['a mark of deletion', 'update warehouse.reviews set deleted_at = now() where id = 4', ['2026-03']],
  ['a deleted review', 'update warehouse.reviews set score = 1, deleted_at = now() where id = 5', []],
  ['a review that returns', 'update warehouse.reviews set deleted_at = null where id = 5', ['2026-03']],
  ['a row deleted by hand', 'delete from warehouse.reviews where id in (3, 5)', ['2026-02']],
  [
    'one of two rows of an upsert',
    `insert into warehouse.reviews (id, created_at, updated_at) values (1, now(), now()), (6, '2026-03-12', now())
    on conflict (id) do update set likes_count = 3`,
    ['2026-01', '2026-03'],
  ],
  ['an upsert that leaves the row', `${reviews} on conflict (id) do nothing`, []],
  ['the zone', `update sync.settings set time_zone = 'America/New_York'`, ['2026-01', '2026-02', '2026-03']],
  ['all rows at once', 'truncate warehouse.reviews', ['2026-01', '2026-02', '2026-03']],
];

test.each(changes)(
  'a statement changes the versions of its months, and nothing else does: %s',
  async (_, statement, months) => {
    await run(reviews);
    const before = await versions();
    expect([...before.keys()].sort()).toEqual(['2026-01', '2026-02', '2026-03']);
    await run(statement);
    const after = await versions();
    expect([...after.keys()].filter((month) => after.get(month) !== before.get(month)).sort()).toEqual(months);
    for (const housekeeping of [foldChanges, compactMonthChanges, foldChanges, rebuildAggregates]) {
      await housekeeping(warehouse.db);
      expect(await versions()).toEqual(after);
    }
  },
);

const orders = `
  insert into sync.order_links (order_code, ordered_at) values
    ('jan', '2026-01-05'), ('feb', '2026-02-05'), ('mar', '2026-03-05'), ('old', null);
  insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, status, delivered_at) values
    ('jan', '1', 1, '{"price": "10"}', true, 7, 'paid', null), ('jan', '2', null, '{"price": "10"}', true, 8, 'paid', null),
    ('feb', '1', 2, '{"price": "20"}', true, 8, 'delivered', '2026-02-09'), ('mar', '1', 3, '{"price": "30"}', true, 7, 'paid', null),
    ('old', '1', 4, '{"price": "30"}', true, 9, 'paid', null)`;

/** A statement, the months of sub-orders whose versions it changes, and the orders that are to be counted again. */
const orderChanges: readonly [name: string, statement: string, months: string[], counted?: string[]][] = [
  [
    'a status',
    `update sync.sub_order_links set status = 'returned' where order_code in ('jan', 'feb')`,
    ['2026-01', '2026-02'],
  ],
  ['a price', `update sync.sub_order_links set content = '{"price": "11"}' where order_code = 'mar'`, ['2026-03']],
  [
    'a delivery',
    `update sync.sub_order_links set delivered_at = '2026-03-09' where order_code = 'mar'`,
    ['2026-03'],
    ['mar'],
  ],
  ['a product', 'update sync.sub_order_links set product_id = 9 where sub_order_id = 2', ['2026-02'], ['feb']],
  ['a line that is sent', 'update sync.sub_order_links set sub_order_id = 9 where sub_order_id is null', ['2026-01']],
  ['a line that is not sent', `update sync.sub_order_links set status = 'x' where sub_order_id is null`, []],
  ['lines written again', 'update sync.sub_order_links set content = content, linked_at = now()', []],
  ['a deleted line', `delete from sync.sub_order_links where order_code = 'feb'`, ['2026-02'], ['feb']],
  [
    'two lines of one order in one statement',
    `insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, delivered_at)
    values ('jan', '8', 8, '{}', true, null), ('jan', '9', 9, '{}', true, now())`,
    ['2026-01'],
    ['jan'],
  ],
  ['a date', `update sync.order_links set ordered_at = '2026-02-06' where order_code = 'jan'`, ['2026-01', '2026-02']],
  [
    'a date that becomes known',
    `update sync.order_links set ordered_at = '2026-02-06' where order_code = 'old'`,
    ['2026-02', 'none'],
  ],
  [
    'two orders that swap dates',
    `update sync.order_links set ordered_at =
    case order_code when 'jan' then timestamptz '2026-02-05' else '2026-01-05' end where order_code in ('jan', 'feb')`,
    ['2026-01', '2026-02'],
  ],
  ['a lease', `update sync.order_links set lease_owner = 'me'`, []],
  [
    'an order that is forgotten',
    `with gone as (delete from sync.order_links where order_code = 'feb')
    delete from sync.sub_order_links where order_code = 'feb'`,
    ['2026-02', 'none'],
    ['feb'],
  ],
  [
    'the code of a product',
    `insert into sync.product_links (product_code, product_id) values ('P7', 7)`,
    ['2026-01', '2026-03'],
  ],
];

test.each(orderChanges)(
  'a statement changes the versions of its months of orders, and nothing else does: %s',
  async (_, statement, months, counted = []) => {
    await run(orders);
    await foldChanges(warehouse.db);
    const before = await versions('sub_orders');
    expect([...before.keys()].sort()).toEqual(['2026-01', '2026-02', '2026-03', 'none']);
    await run(statement);
    const after = await versions('sub_orders');
    expect([...after.keys()].filter((month) => after.get(month) !== before.get(month)).sort()).toEqual(months);
    expect((await run('table sync.changed_orders')).map((row) => row.order_code)).toEqual(counted);
    for (const housekeeping of [compactMonthChanges, foldChanges, compactMonthChanges, rebuildAggregates]) {
      await housekeeping(warehouse.db);
      expect(await versions('sub_orders')).toEqual(after);
    }
    expect(await run('table sync.order_changes')).toEqual([]);
    expect(await wrongCounts(warehouse.db)).toEqual([]);
  },
);

test('an edit that changes no count gives one row of the log for each month, and no order to count again', async () => {
  await run(reviews);
  await foldChanges(warehouse.db);
  await run('update warehouse.reviews set likes_count = likes_count + 1');
  const logged = await run('select reviews, created_at from sync.review_changes order by created_at');
  expect(logged.map(({ reviews: count, created_at: at }) => [count, at.toISOString().slice(0, 7)])).toEqual([
    [0, '2026-01'],
    [0, '2026-02'],
    [0, '2026-03'],
  ]);
  expect(await run('table sync.changed_orders')).toEqual([]);
});

test('a rebuild keeps the versions of changes that are not folded yet', async () => {
  await run(reviews);
  await run(orders);
  const both = async () => [await versions('reviews'), await versions('sub_orders')];
  const before = await both();
  await run('update warehouse.reviews set likes_count = 9 where id = 1');
  await run(`update sync.sub_order_links set status = 'returned' where order_code = 'mar'`);
  const changed = await both();
  expect(changed[0]?.get('2026-01')).not.toBe(before[0]?.get('2026-01'));
  expect(changed[1]?.get('2026-03')).not.toBe(before[1]?.get('2026-03'));
  await rebuildAggregates(warehouse.db);
  expect(await both()).toEqual(changed);
});

test('another time zone makes months that were none before', async () => {
  // 15:30 UTC is the next day in Seoul.
  await run(`insert into warehouse.reviews (id, created_at, updated_at) values (1, '2026-02-28T15:30:00Z', now())`);
  await run(`insert into sync.order_links (order_code, ordered_at) values ('one', '2026-04-30T15:30:00Z')`);
  expect([...(await versions()).keys()]).toEqual(['2026-03']);
  await foldChanges(warehouse.db);
  await run(`update sync.settings set time_zone = 'America/New_York'`);
  expect([...(await versions()).keys()]).toContain('2026-02');
  expect(
    await run(`select from sync.month_versions where relation = 'sub_orders' and month = '2026-04-01'`),
  ).toHaveLength(1);
});

test('beside writers and folds, a snapshot that shows the same version shows the same rows', async () => {
  await run(reviews);
  const seen = new Map<string, string>();
  let newest = 0n;
  const enough = 20;
  const writing = [1, 2].map(async (id) => {
    while (seen.size < enough) {
      await run(
        `update warehouse.reviews set likes_count = likes_count + 1, score = 1 + likes_count % 5 where id = ${id}`,
      );
    }
  });
  const during = async (work: () => Promise<unknown>) => {
    while (seen.size < enough) await work();
  };
  const reading = during(async () => {
    const reader = await warehouse.pool.connect();
    try {
      await reader.query('begin isolation level repeatable read');
      const version = await reader.query(
        `select version::text from sync.month_versions where relation = 'reviews' and month = '2026-01-01'`,
      );
      const rows = await reader.query('select review_id, score, votes from bi.reviews where review_id <= 2 order by 1');
      await reader.query('commit');
      const text = JSON.stringify(rows.rows);
      // Each change adds to the version: one that goes back has lost a change.
      expect(BigInt(version.rows[0].version)).toBeGreaterThanOrEqual(newest);
      newest = BigInt(version.rows[0].version);
      expect(seen.get(version.rows[0].version) ?? text).toBe(text);
      seen.set(version.rows[0].version, text);
    } finally {
      reader.release();
    }
  });
  await Promise.all([
    ...writing,
    reading,
    during(() => foldChanges(warehouse.db)),
    during(() => compactMonthChanges(warehouse.db)),
  ]);
  expect(new Set(seen.values()).size).toBe(seen.size);
});

test('two transactions that change reviews of one day, product and order, and a fold, do not wait for each other', async () => {
  await run(reviews);
  const clients = await Promise.all([warehouse.pool.connect(), warehouse.pool.connect()]);
  try {
    for (const [index, client] of clients.entries()) {
      await client.query(`begin; set local lock_timeout = '5s'`);
      await client.query(`insert into warehouse.reviews (id, created_at, updated_at, order_code)
        values (${10 + index}, '2026-01-10', now(), 'one')`);
      await client.query(`update warehouse.reviews set likes_count = 1 where id = ${1 + index}`);
    }
    await run(`begin; set local lock_timeout = '5s'; select sync.fold_changes(); commit`);
    for (const client of clients) await client.query('commit');
  } finally {
    for (const client of clients) client.release();
  }
  expect(await run('select reviews from sync.review_changes order by 1')).toEqual(
    [0, 0, 1, 1].map((count) => ({ reviews: count })),
  );
});

test('what lands while a fold is under way is neither lost nor counted twice', async () => {
  await run(reviews);
  await run(orders);
  // The fold waits where it enters the months.
  await run(`
    create function public.wait_for_test() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(1);
      return new;
    end $$;
    create trigger wait_for_test before insert on sync.month_changes
      for each row execute function public.wait_for_test()`);
  const holder = await warehouse.pool.connect();
  try {
    await holder.query('select pg_advisory_lock(1)');
    const folding = foldChanges(warehouse.db);
    const waiting = `select from pg_locks l join pg_database d on d.oid = l.database
      where locktype = 'advisory' and not granted and datname = current_database()`;
    await until(async () => (await run(waiting)).length > 0);
    await run('update warehouse.reviews set likes_count = 9, score = 5 where id = 1');
    await run(`update sync.sub_order_links set delivered_at = '2026-03-09' where order_code = 'mar'`);
    const before = [await versions('reviews'), await versions('sub_orders')];
    await holder.query('select pg_advisory_unlock(1)');
    await folding;
    expect([await versions('reviews'), await versions('sub_orders')]).toEqual(before);
  } finally {
    holder.release();
  }
  expect(await wrongCounts(warehouse.db)).toEqual([]);
});
