import { mkdir } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { describeWithHint } from '../../src/base/errors.ts';
import { isTransient } from '../../src/base/lost-connections.ts';
import { orderShopQueries, writeQueries } from '../harness/order-world.ts';
import { type OpenWorld, worldTest as test, type World } from '../harness/world.ts';

const orders = 'select code, at as created_at, at as updated_at, 1::numeric as total_price from o';
const order_lines = `select code as order_code, '1'::text as line_code, 7 as product_id, 1::numeric as price from o`;

async function shopWith(open: OpenWorld, orders: string): Promise<World> {
  const folder = await orderShopQueries({ orders, order_lines });
  const world = await open({ environment: { SHOP_SQL_DIR: folder } });
  await world.shop('create table o (code text, at timestamptz)');
  return world;
}

test('every reading has a time limit of 30 s, and a shorter one of the shop holds', async ({ openWorld }) => {
  const settings = `current_setting('statement_timeout') as user_name, current_setting('transaction_read_only') as store_name,
    current_setting('lock_timeout') as user_code, current_setting('transaction_isolation') as user_phone`;
  const world = await shopWith(openWorld, orders.replace(' from', `, ${settings} from`));
  await world.shop(`insert into o values ('A', now()), ('B', null)`);
  const silence = vi.spyOn(Socket.prototype, 'setTimeout');
  const { shop } = await world.openApp();
  expect(await shop.keylessOrders()).toMatchObject([{ code: 'B', user_name: '30s', store_name: 'on' }]);
  // An order and its lines are read as of one moment.
  const read = { code: 'A', user_name: '30s', store_name: 'on', user_code: '5s', user_phone: 'repeatable read' };
  expect(await shop.orders(['A'])).toMatchObject([{ order: read }]);
  expect(silence.mock.calls.map(([ms]) => ms)).toContain(45_000);
  for (const [own, shown] of [
    ['7s', '7s'],
    ['2min', '30s'],
  ]) {
    await world.shop(`alter database ${new URL(world.shopUrl).pathname.slice(1)} set statement_timeout = '${own}'`);
    const { shop: other } = await world.openApp();
    expect(await other.orders(['A'])).toMatchObject([{ order: { user_name: shown } }]);
  }
});

test('an error of a lock names the shop, and may pass by itself', async ({ openWorld }) => {
  const world = await shopWith(openWorld, `${orders} where locked()`);
  // As a lock that is waited for in vain, which takes five seconds.
  await world.shop(`create function locked() returns boolean stable language plpgsql as $$
    begin raise lock_not_available; end $$; insert into o values ('A', now())`);
  const { shop } = await world.openApp();
  const error: unknown = await shop.orders(['A']).catch((thrown: unknown) => thrown);
  expect(describeWithHint(error)).toMatch(
    /^The shop database cannot be read: another session holds a lock on the table \(.*\) → let it finish/,
  );
  expect(isTransient(error)).toBe(true);
  // A file that cannot be read is not a file that is absent.
  await mkdir(join(world.environment.SHOP_SQL_DIR ?? '', 'categories.sql'));
  await expect(shop.catalog('categories')).rejects.toThrow(/categories\.sql cannot be read/);
});

/** As the time limit of 30 s does: cancels the statement of the shop that sleeps, once there is one. */
async function cancelSleep(world: World): Promise<void> {
  const database = new URL(world.shopUrl).pathname.slice(1);
  for (let isCancelled = false; !isCancelled; ) {
    const rows = await world.atService<{ cancelled: boolean }>(
      `select pg_cancel_backend(pid) as cancelled from pg_stat_activity
       where datname = '${database}' and query like '%pg_sleep(60)%' and wait_event = 'PgSleep'`,
    );
    isCancelled = rows.some((row) => row.cancelled);
  }
}

test('a search that takes too long is an error; a measured one has no time', async ({ openWorld }) => {
  const world = await shopWith(openWorld, `${orders} where pg_sleep(60) is not null`);
  await world.shop(`insert into o values ('A', null), ('B', now())`);
  const { shop } = await world.openApp();
  const searching = expect(shop.keylessOrders()).rejects.toMatchObject({
    message: 'orders.sql: one statement took longer than 30 s, or than a limit of the database',
    hint: expect.stringContaining('ORDER_BATCH_SIZE'),
  });
  await cancelSleep(world);
  await searching;
  const slow = { orders, order_lines: `${order_lines} where pg_sleep(60) is not null` };
  await writeQueries(world.environment.SHOP_SQL_DIR, slow);
  const { shop: other } = await world.openApp();
  const [costs] = await Promise.all([other.queryCosts(), cancelSleep(world)]);
  const purpose = 'find the lines of 1 order';
  expect(costs).toContainEqual({ file: 'order_lines', purpose, scans: [] });
  expect(costs.filter(({ seconds }) => seconds !== undefined)).toHaveLength(4);
});
