import { expect } from 'vitest';
import { line, type OrderWorld, order, orderShopQueries, orders, orderTest } from '../harness/order-world.ts';
import type { OpenWorld } from '../harness/world.ts';

/** The feed names orders of `named`; orders.sql shows those of `o`. */
const test = orderTest.extend('worldOptions', async () => ({
  environment: {
    SHOP_SQL_DIR: await orderShopQueries({
      changed_orders: 'select code, changed_at from named where changed_at >= :since',
    }),
  },
}));

/** As many orders as given are in the shop; the feed names `all`, from O1 on. */
async function placeOf(world: OrderWorld, all: number, shown: number): Promise<void> {
  await world.place(...orders(shown));
  await world.shop(
    `create table named as select 'O' || n as code, now() as changed_at from generate_series(1, ${all}) n`,
  );
  // Not the first run, which would read the codes from orders.sql.
  await world.warehouse(
    `update sync.settings set orders_cursor = '{"at": "2026-01-01T00:00:00Z", "readTo": "2026-01-01T00:00:00Z"}'`,
  );
}

const writes = (world: OrderWorld) => world.requests().filter(({ path }) => path.startsWith('/v1/orders'));
const cursor = `select orders_cursor ->> 'at' as at from sync.settings`;

test('a run that finds most of the named orders gone sends and settles none', async ({ world }) => {
  await placeOf(world, 18, 11);
  // The order that is gone was pushed before. Five that the shop shows are due: these do not count.
  await world.warehouse(`insert into sync.order_links (order_code, order_id, contact, fingerprint, due_at)
    select 'O13', 5, 'allowed', 'f', null::timestamptz
    union all select 'O' || n, null, null, null, now() from generate_series(1, 5) n`);
  const end = await world.cli('sync', 'orders');
  expect(end).toMatchObject({ status: 1, stderr: expect.stringContaining('The shop does not show 7 of 13 orders') });
  expect(writes(world)).toEqual([]);
  expect(await world.warehouse('select count(fingerprint) as n, count(due_at) as due from sync.order_links')).toEqual([
    { n: '1', due: '5' },
  ]);
  expect(await world.warehouse(cursor)).toEqual([{ at: '2026-01-01T00:00:00Z' }]);

  // A person says that they were deleted.
  const allowed = await world.cli('sync', 'orders', '--allow-removals');
  expect(allowed).toMatchObject({ status: 0, stdout: expect.stringContaining('7 orders gone') });
  expect(await world.atService('select from reference_service.orders')).toHaveLength(11);
});

test('half of the named orders may be gone, and all that are due: they are counted', async ({ world }) => {
  await placeOf(world, 12, 6);
  await world.warehouse(`insert into sync.order_links (order_code, contact, due_at, failed_pushes)
    select 'gone' || n, 'allowed', now(), 1 from generate_series(1, 20) n`);
  const end = await world.cli('sync', 'orders');
  expect(end).toMatchObject({ status: 0, stdout: expect.stringContaining('26 orders gone') });
  expect(await world.atService('select from reference_service.orders')).toHaveLength(6);
  expect(await world.warehouse('select from sync.order_links where due_at is not null')).toEqual([]);
});

test('an order whose code the feed writes otherwise is the order of its own code', async ({ openWorld }) => {
  const feed = `select lower(code) as code, updated_at as changed_at from o where updated_at >= :since`;
  const world = await openWorld({ environment: { SHOP_SQL_DIR: await orderShopQueries({ changed_orders: feed }) } });
  await world.shop('create extension citext; alter table o alter code type citext');
  const some = Array.from({ length: 8 }, (_, n) => order(`A${n}`, { user_email: `a${n}@example.com` }, line('1', 7)));
  await world.place(...some);
  expect(await world.sync()).toMatchObject({ orders_pushed: 8, orders_gone: 0 });
  await world.shop(`update o set updated_at = now(); update o set deleted_at = now() where code = 'A0'`);
  expect(await world.sync()).toMatchObject({ orders_unchanged: 7, orders_gone: 0 });
  // Promise 7: the contact of an order that the shop deletes is cleared.
  const kept = `select coalesce(user_email, '') as email from reference_service.orders where code = 'A0'`;
  expect(await world.atService(kept)).toEqual([{ email: '' }]);
});

/** The feed writes codes in lower case, and the column of orders.sql tells cases apart. */
async function foldedFeed(openWorld: OpenWorld<OrderWorld>, prepare = '', orders = 'select * from o') {
  const changed_orders = `select ' ' || lower(code) as code, updated_at as changed_at from o where updated_at >= :since`;
  const SHOP_SQL_DIR = await orderShopQueries({ orders, changed_orders });
  const world = await openWorld({ environment: { SHOP_SQL_DIR } });
  await world.shop(prepare);
  await world.place(order('Ab1', line('1', 7)));
  // The first run reads the codes from orders.sql.
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  return world;
}

test('a column that tells cases apart hides no order that the feed writes otherwise', async ({ openWorld }) => {
  const world = await foldedFeed(openWorld);
  // Two are new in neither lower nor upper case: they are found without case. The last one has no case.
  const codes = ['NEW', 'new2', 'miX', 'Ünï 2', '주문'.normalize('NFD')];
  await world.place(...codes.map((code) => order(code, line('1', 7))));
  await world.shop(`update o set total_price = 7, updated_at = now(), user_email = code || '@example.com'`);
  // A dry run finds the orders that a run finds.
  expect(await world.json('sync orders --dry-run')).toMatchObject({ orders: 6, toSend: 6, withContact: 6 });
  expect(await world.sync()).toMatchObject({ orders_pushed: 6, orders_gone: 0 });
  expect(await world.openDeadLetters()).toEqual([]);
  await world.shop(`delete from o where code = 'NEW'`);
  expect(await world.sync()).toMatchObject({ orders_unchanged: 5, orders_gone: 0 });
});

test('a code that cannot be searched for is a dead letter; a number is gone', async ({ openWorld }) => {
  // The shop cannot be searched: the row `odd` fails; by code the index finds the others. Drafts are numbers.
  const prepare = `create function fails(code text) returns boolean cost 0.0001 language plpgsql as
      $$ begin return 1 / (case when code = 'odd' then 0 else 1 end) = 0; end $$;
    create index on o (code)`;
  const world = await foldedFeed(openWorld, prepare, `select * from o where code <> '900' and not fails(code)`);
  await world.shop(`alter database ${new URL(world.shopUrl).pathname.slice(1)} set enable_seqscan = off`);
  await world.place(order('odd', line('1', 7)), order('900', { updated_at: new Date() }, line('1', 7)));
  const stdout = expect.stringContaining('1 order gone');
  expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0, stdout });
  await world.place(order('nEw', line('1', 7)));
  await world.shop('update o set updated_at = now()');
  for (let run = 1; run <= 3; run += 1) {
    expect(await world.cli('sync', 'orders')).toMatchObject({ status: 1 });
    const reason = expect.stringContaining('Let changed_orders.sql write codes as orders.sql does');
    expect(await world.openDeadLetters()).toContainEqual({ kind: 'order', key: ' new', reason });
  }
  await world.shop(`delete from o where code = 'odd'`);
  await world.timePasses('1 hour');
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  expect(await world.openDeadLetters()).toEqual([]);
  expect(await world.atService('select from reference_service.orders')).toHaveLength(2);
});
