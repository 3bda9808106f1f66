import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, vi } from 'vitest';
import { backfillOrders } from '../../jobs/backfill-orders.ts';
import { jobs } from '../../jobs/index.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { syncReviews } from '../../jobs/sync-reviews.ts';
import { openApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { sameShop } from '../../src/app/require-same-shop.ts';
import { openLog } from '../../src/base/log.ts';
import { startDueRun } from '../../src/runs/start-run.ts';
import { openRunChoice } from '../../src/runs/start-worker.ts';
import { ordersOfAllAges } from '../../src/warehouse/orders/known-orders.ts';
import { until } from '../harness/cli.ts';
import { createDatabase } from '../harness/database.ts';
import { createOrderShop, line, type OrderWorld, order, orderTest as test } from '../harness/order-world.ts';
import { daysAgo, runJob } from '../harness/world.ts';

/** Orders O0 to O39, one a day, as the service has them. */
async function pushForty(world: OrderWorld): Promise<void> {
  const dated = Array.from({ length: 40 }, (_, n) => order(`O${n}`, { created_at: daysAgo(1 + n) }, line('1', 7)));
  await world.place(...dated);
  await world.sync();
  world.serviceRule(() => 'pass');
}

test('a shop is recognised by one of a dozen pushed orders, and by its date', async ({ world }) => {
  const { shop, warehouse } = await world.openApp();
  const is = async (verdict: string) => expect(await sameShop({ shop, db: warehouse.db })).toMatchObject({ verdict });
  await is('unknown');
  await pushForty(world);
  await is('same');
  const asked = (await ordersOfAllAges(warehouse.db)).map(({ code }) => Number(code.slice(1)));
  expect(asked).toHaveLength(12);
  expect(asked).toEqual(expect.arrayContaining([0, 1, 2, 37, 38, 39]));
  // One of them in each sixth of the time between.
  for (let sixth = 0; sixth < 6; sixth += 1)
    expect(asked.filter((n) => n >= 2 + sixth * 6 && n <= 8 + sixth * 6).length).toBeGreaterThan(0);

  // An archive of the older half, and a zone that was corrected.
  await world.shop(`delete from o where created_at < now() - interval '20 days'`);
  await world.shop(`update o set created_at = created_at + interval '9 hours' - interval '0.9 seconds'`);
  await is('same');
  // Another shop that numbers its orders by day, too.
  await world.shop(`update o set created_at = created_at + interval '7 minutes 3 seconds'`);
  await is('other');
  // Unless a person says that the orders are the same.
  await world.ends(0, 'migrate --same-orders');
  await is('same');
  await world.shop(`update o set created_at = created_at - interval '2 days 7 minutes 3 seconds'`);
  await is('other');
  // A row that cannot be read says nothing, but others do.
  await world.shop(`update o set created_at = 'infinity' where code = 'O1'`);
  await is('other');
  await world.shop(`update o set created_at = 'infinity'`);
  await is('unknown');
  // Orders that were never accepted, or are known to be gone, show nothing.
  await world.shop(`update o set created_at = '2001-01-01'`);
  await world.warehouse(`update sync.order_links set order_id = null where order_code <> 'O5'`);
  await is('other');
  await world.warehouse(`update sync.order_links set absent_since = now() where order_code = 'O5'`);
  await is('unknown');
});

test('nothing of another shop is sent by any command; verify and doctor say so', async ({ world }) => {
  await pushForty(world);
  const other = await createDatabase();
  await createOrderShop(other);
  await world.warehouse(
    `insert into sync.dead_letters (kind, key, order_code, reason, payload) values ('order', 'X', 'X', 'bad', '{}')`,
  );
  expect(await world.prints('doctor')).not.toContain('orders of all ages');
  world.environment.SHOP_DATABASE_URL = other;
  const runs = ['sync orders', 'backfill orders', 'backfill orders --detach'];
  for (const command of [...runs, 'verify orders --repair', 'dead-letters retry'])
    await world.ends(1, command, /none of 12 orders of all ages.*review-sync migrate --same-shop/s);
  expect(await world.warehouse('select from sync.runs')).toEqual([]);
  await world.says('doctor', 'none of 12 orders of all ages');
  expect(world.requests().filter(({ path }) => path.startsWith('/v1/orders'))).toEqual([]);
});

test('a run whose shop becomes another one is not done, and leaves the cursor', async ({ world }) => {
  await pushForty(world);
  await world.place(order('NEW', { created_at: daysAgo(0) }));
  const cursor = () => world.warehouse('select orders_cursor from sync.settings');
  const before = await cursor();
  await world.warehouse(`insert into sync.dead_letters (kind, key, order_code, reason, payload)
    values ('order', 'NEW', 'NEW', 'tried again by the next run', '{}')`);
  const error = expect.stringContaining('none of 12 orders of all ages');
  for (const job of [syncOrders, backfillOrders]) {
    const plan: typeof job.plan = async (...args) => {
      const planned = await job.plan(...args);
      await world.shop('create table kept as table o; delete from o');
      return planned;
    };
    expect(await runJob(await world.openApp(), { ...job, plan })).toMatchObject({ outcome: 'incomplete', error });
    await world.shop('insert into o select * from kept; drop table kept');
  }
  expect(await cursor()).toEqual(before);
  expect(await world.warehouse('select from sync.dead_letters where resolved_at is null')).toHaveLength(1);
});

test('a run waits while its shop is empty or does not respond, and delays no other run', async ({ world }) => {
  await pushForty(world);
  await startDueRun(await world.openApp(), syncOrders, 'orders');
  await startDueRun(await world.openApp(), syncReviews, 'reviews');
  await world.shop('create table kept as table o; delete from o');
  vi.useFakeTimers({ toFake: ['performance'] });
  const look = openRunChoice(await world.openApp(), jobs);
  expect(await look()).toMatchObject([{ id: 'reviews' }]);
  await world.shop('insert into o select * from kept');
  expect(await look()).toMatchObject([{ id: 'reviews' }]);
  vi.advanceTimersByTime(10_001);
  await until(async () => (await look()).some(({ id }) => id === 'orders'));
  vi.useRealTimers();

  await world.warehouse('delete from sync.runs');
  const silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const asked = once(silent, 'connection');
  const address = `postgres://a@127.0.0.1:${(silent.address() as AddressInfo).port}/shop`;
  const config = readConfig({ ...world.environment, SHOP_DATABASE_URL: address });
  await using app = await openApp(config, { log: openLog('fatal') });
  await startDueRun(app, syncOrders, 'silent-orders');
  await startDueRun(app, syncReviews, 'silent-reviews');
  expect(await openRunChoice(app, jobs)()).toMatchObject([{ id: 'silent-reviews' }]);
  const [socket] = (await asked) as [Socket];
  expect(socket.destroyed).toBe(false);
  socket.destroy();
});
