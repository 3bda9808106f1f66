import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { line, openOrderWorld, order, sampleShopQueries, writeQueries } from '../harness/order-world.ts';
import { openWorld, type World } from '../harness/world.ts';

let pushed: World;
beforeAll(async () => {
  pushed = await openWorld();
  for (const what of ['reviews', 'orders']) expect((await pushed.cli('sync', what)).status).toBe(0);
  await pushed[Symbol.asyncDispose]();
});

/** The sample shop with its reviews read, so that every product is known, and every order pushed. */
async function pushedWorld(): Promise<World> {
  const world = await openWorld({ copyOf: pushed });
  onTestFinished(() => world[Symbol.asyncDispose]());
  return world;
}

async function syncOrders(world: World): Promise<Record<string, number>> {
  const report = await world.run('sync-orders');
  expect(report).toMatchObject({ outcome: 'done' });
  return report.counts;
}

async function byCommand(world: World, environment: Record<string, string>): Promise<Record<string, number>> {
  const end = await runCli(['sync', 'orders', '--json'], { ...world.environment, ...environment });
  expect(end).toMatchObject({ status: 0 });
  return JSON.parse(end.stdout).counts;
}

const inShop = `
  select o.order_no as code, o.buyer_name as name, count(i.*)::integer as lines,
    sum(i.unit_price * i.quantity)::integer as price
  from shop.orders o join shop.order_items i using (order_id)
  where o.removed_at is null group by o.order_no, o.buyer_name order by o.order_no collate "C"`;
const atService = `
  select o.code, o.user_name as name, count(s.*)::integer as lines, sum(s.price)::integer as price
  from reference_service.orders o join reference_service.sub_orders s on s.order_id = o.id
  group by o.code, o.user_name order by o.code collate "C"`;
async function expectSame(world: World): Promise<void> {
  expect(await world.atService(atService)).toEqual(await world.shop(inShop));
}

const nth = (n: number) =>
  `(select order_id from shop.orders where removed_at is null order by order_id offset ${n} limit 1)`;

test('after the shop’s clock was set back, a run finds what changed, and reads no more', async () => {
  const world = await pushedWorld();
  await world.warehouse(`update sync.settings
    set orders_cursor = orders_cursor || jsonb_build_object('at', now() + interval '55 minutes', 'readTo', now())`);
  for (const name of ['First', 'Second']) {
    await world.shop(`update shop.orders set buyer_name = '${name}', modified_at = now() where order_id = ${nth(4)}`);
    expect((await syncOrders(world)).orders).toBeLessThan(30);
    await expectSame(world);
  }
});

test('a feed without :since, or no feed and no updated_at, ends the command', async () => {
  const SHOP_SQL_DIR = await sampleShopQueries({
    changed_orders: () => 'select order_no as code, modified_at as changed_at from shop.orders -- >= :since',
  });
  await using world = await openWorld({ environment: { SHOP_SQL_DIR } });
  const { shop } = await world.openApp();
  const sync = async (sentence: RegExp) =>
    expect(await world.cli('sync', 'orders')).toMatchObject({ status: 2, stderr: expect.stringMatching(sentence) });
  await sync(/does not use its parameter :since/);
  const feed = 'select order_no as code, modified_at as changed_at from shop.orders where modified_at >= :since';
  await writeFile(join(SHOP_SQL_DIR, 'changed_orders.sql'), feed);
  expect(await shop.hasFeed()).toBe(true);
  await rm(join(SHOP_SQL_DIR, 'changed_orders.sql'));
  const missing = /column updated_at \(timestamptz\) is missing; select it, or write changed_orders\.sql/;
  await sync(missing);
  // So does a process that has read the queries before.
  await expect(shop.hasFeed()).rejects.toThrow(missing);
});

test('a feed whose dates move while they are read ends at the shop’s clock', async () => {
  const world = await pushedWorld();
  const SHOP_SQL_DIR = await sampleShopQueries({
    changed_orders: () => 'select order_no as code, now() as changed_at from shop.orders where now() >= :since',
  });
  const before = await world.warehouse(`select orders_cursor from sync.settings`);
  const environment = { SHOP_SQL_DIR, ORDER_BATCH_SIZE: '20' };
  expect((await byCommand(world, environment)).orders).toBeLessThanOrEqual(80);
  // Its cursor is the shop's clock, and no later moment.
  const after = await world.warehouse<{ at: Date }>(
    `select (orders_cursor ->> 'at')::timestamptz as at from sync.settings`,
  );
  expect(after[0]?.at.getTime()).toBeLessThanOrEqual(Date.now());
  expect(after).not.toEqual(before);
  // What its pages leave out, other readings find.
  await world.shop(`update shop.orders set buyer_name = 'Moved'`);
  await world.run('backfill-orders');
  await expectSame(world);
});

const notice = 'orders that were pushed before are at the service as they were read then';

test('a changed query is said by the next run, status and doctor until a backfill', async () => {
  await using world = await openOrderWorld();
  await world.place(order('A', line('1', 1)), order('B', line('1', 1)));
  const folder = world.environment.SHOP_SQL_DIR;
  const said = async (...command: string[]) => {
    const { stdout, stderr } = await world.cli(...command);
    return (stdout + stderr).includes(notice);
  };
  const looks = async () => [await said('status'), await said('doctor')];
  expect(await said('sync', 'orders')).toBe(false);
  // A comment and another line end select the same.
  await writeQueries(folder, { orders: 'select *\n  from o -- all of them' });
  expect([await said('sync', 'orders'), ...(await looks())]).toEqual([false, false, false]);

  await writeQueries(folder, {
    order_lines: `select order_code, line_code, product_id, price * 2 as price, status from l`,
  });
  expect(await looks()).toEqual([false, true]);
  expect([await said('sync', 'orders'), ...(await looks())]).toEqual([true, true, true]);
  // The next run says it no more, and neither some days nor the earlier query end it: orders were read by both.
  expect(await said('sync', 'orders')).toBe(false);
  for (const end of ['--from', '--to']) expect(await said('backfill', 'orders', end, '2026-01-01')).toBe(false);
  expect(await looks()).toEqual([true, true]);
  await writeQueries(folder, { order_lines: 'select * from l' });
  expect(await said('sync', 'orders')).toBe(true);
  expect(await looks()).toEqual([true, true]);

  expect(await world.cli('backfill', 'orders')).toMatchObject({ status: 0 });
  expect(await looks()).toEqual([false, false]);
});

test('another zone is a change only if a query selects a date without zone', async () => {
  await using world = await openOrderWorld();
  await world.place(order('A', line('1', 1)));
  const says = async (zone: string) => {
    const end = await runCli(['sync', 'orders'], { ...world.environment, SHOP_TIME_ZONE: zone });
    expect(end.status).toBe(0);
    return end.stderr.includes(notice);
  };
  expect([await says('Asia/Seoul'), await says('UTC')]).toEqual([false, false]);
  await writeQueries(world.environment.SHOP_SQL_DIR, {
    orders: `select code, created_at at time zone 'UTC' as created_at, updated_at, total_price from o`,
  });
  expect([await says('UTC'), await says('Asia/Seoul'), await says('Asia/Seoul')]).toEqual([true, true, false]);
});
