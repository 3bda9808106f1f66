import { afterEach, expect, test } from 'vitest';
import { LeaseLostError } from '../../src/warehouse/leases.ts';
import { openOrderStore } from '../../src/warehouse/orders/order-store.ts';
import { startCli } from '../harness/cli.ts';
import { query } from '../harness/database.ts';
import { type OrderWorld, openOrderWorld } from '../harness/order-world.ts';
import { until } from '../harness/patience.ts';
import type { Fate } from '../harness/rule-proxy.ts';

const open: OrderWorld[] = [];
afterEach(async () => {
  for (const world of open.splice(0)) await world[Symbol.asyncDispose]();
});

async function orderWorld(orders = 1, environment: Record<string, string> = {}): Promise<OrderWorld> {
  const world = await openOrderWorld({ environment });
  open.push(world);
  await world.shop(`insert into o (code) select 'O' || n from generate_series(1, ${orders}) n;
    insert into l (order_code, line_code, product_id)
      select 'O' || n, line::text, n from generate_series(1, ${orders}) n, generate_series(1, 2) line`);
  return world;
}

const subOrders = 'select count(*)::integer as n from reference_service.sub_orders';

test('a holder whose lease was taken over writes nothing any more, and the lease says who holds the order', async () => {
  const world = await orderWorld();
  const { db } = (await world.openApp()).warehouse;
  const store = await openOrderStore(db, { leaseMs: 60_000 });
  const first = await store.lease('O1');
  if ('leasedBy' in first) throw new Error('expected the lease');
  const second = await store.lease('O1');
  expect(second).toMatchObject({ leasedBy: first.token });
  await world.warehouse(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
  const third = await store.lease('O1');
  expect(third).not.toHaveProperty('leasedBy');
  expect(await store.saveLines(first, { lines: [], dropLinks: [], unseen: [] })).toBe(false);
  await store.release(first, { wasSent: true });
  expect(await store.lease('O1')).toHaveProperty('leasedBy');
});

test('a lease that could not be returned, or whose taking brought no response, is returned once the warehouse is back', async () => {
  const world = await orderWorld();
  const { db, pool } = (await world.openApp()).warehouse;
  const store = await openOrderStore(db, { leaseMs: 180_000 });
  const isFree = async () =>
    (await world.warehouse('select from sync.order_links where lease_owner is not null')).length === 0;
  let fault: 'away' | 'answer lost' | undefined;
  const connect = pool.connect.bind(pool);
  Object.assign(pool, {
    async connect() {
      if (fault === 'away') throw new Error('Connection terminated unexpectedly');
      const client = await connect();
      const ask = client.query.bind(client) as (text: string, values: unknown[]) => Promise<unknown>;
      const release = client.release.bind(client);
      return {
        async query(text: string, values: unknown[]) {
          const result = await ask(text, values);
          if (fault !== 'answer lost' || !text.includes('insert into sync.order_links')) return result;
          fault = 'away';
          throw new Error('Connection terminated unexpectedly');
        },
        release,
      };
    },
  });
  const leased = await store.lease('O1');
  if ('leasedBy' in leased) throw new Error('expected the lease');
  fault = 'away';
  await expect(store.release(leased, { wasSent: true })).rejects.toThrow('terminated');
  fault = undefined;
  await until(isFree);

  fault = 'answer lost';
  await expect(store.lease('O1')).rejects.toThrow('terminated');
  expect(await isFree()).toBe(false);
  fault = undefined;
  await until(isFree);
});

test('a holder that is frozen before it creates a sub-order creates none after another process took the order over', async () => {
  const world = await orderWorld();
  const app = await world.openApp();
  const renewing = await openOrderStore(app.warehouse.db, { leaseMs: 4000 });
  const store = { ...renewing, renew: async () => {} };
  // Frozen: the connection to the service and the process stand still between the POST of the order and the creations.
  let other: Promise<unknown> | undefined;
  world.serviceRule(async ({ method, path }): Promise<Fate> => {
    if (method !== 'POST' || path !== '/v1/orders' || other) return 'pass';
    await world.warehouse(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
    other = world.sync();
    await other;
    return 'pass';
  });
  await world.sync({ store });
  expect(other).toBeDefined();
  expect(await world.atService(subOrders)).toEqual([{ n: 2 }]);
});

test('connections that are cut while orders are pushed, by two processes at once, add no sub-order twice', async () => {
  // A cut connection cannot give its leases back: they run out.
  const world = await orderWorld(40, { ORDER_LEASE_SECONDS: '4' });
  let cuts = 0;
  world.serviceRule(async ({ path }): Promise<Fate> => {
    // Every tenth creation all connections to the warehouse are cut, those of the other process too.
    if (path.endsWith('/sub_orders') && ++cuts % 10 === 0 && cuts < 60) {
      await query(world.shopUrl, `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, [
        new URL(world.warehouseUrl).pathname.slice(1),
      ]);
    }
    return 'pass';
  });
  for (let run = 0; run < 12; run += 1) await Promise.allSettled([world.sync(), world.sync()]);
  await world.warehouse(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
  await world.sync();
  expect(cuts).toBeGreaterThan(50);
  expect(await world.atService(subOrders)).toEqual([{ n: 80 }]);
});

test('a process that was killed right after its POST still deletes the order when the shop does', async () => {
  const world = await orderWorld();
  let kill = () => {};
  world.serviceRule(({ method, path }) => {
    if (method !== 'POST' || path !== '/v1/orders') return 'pass';
    kill();
    return 'lose';
  });
  const command = startCli(['sync', 'orders'], world.environment);
  kill = () => command.kill('SIGKILL');
  expect((await command.ended).signal).toBe('SIGKILL');
  const orders = 'select code from reference_service.orders';
  await expect.poll(() => world.atService(orders), { timeout: 20_000 }).toHaveLength(1);
  world.serviceRule(() => 'pass');
  await world.shop(`update o set deleted_at = now(), updated_at = now()`);
  await world.timePasses('1 day');
  await world.sync({ deletes: 'send' });
  expect(await world.atService(orders)).toEqual([]);
  expect(await world.warehouse('select * from sync.order_links')).toEqual([]);
});

test('a command that waits for an order says who has it and until when, and goes on when the lease runs out', async () => {
  const world = await orderWorld();
  await world.sync();
  await world.shop(`update o set total_price = 7, updated_at = now()`);
  await world.warehouse(
    `update sync.order_links set lease_owner = 'other-machine:7:x', lease_expires_at = now() + interval '10 minutes'`,
  );
  const command = startCli(['sync', 'orders'], world.environment);
  await command.says('other-machine:7:x is pushing order O1');
  expect(command.saidSoFar()).toContain('waiting until');
  await world.timePasses('10 minutes');
  expect(await command.ended).toMatchObject({ status: 0 });
  expect(await world.atService('select total_price::text from reference_service.orders')).toEqual([
    { total_price: '7' },
  ]);
});

test('the lease is checked right before every write, and one that was not renewed lets nothing be sent', async () => {
  const world = await orderWorld();
  const store = await openOrderStore((await world.openApp()).warehouse.db, { leaseMs: 60_000 });
  let checks = 0;
  const assertLease: typeof store.assertLease = (leased) => {
    checks += 1;
    store.assertLease(leased);
  };
  world.serviceRule(() => 'pass');
  await world.sync({ store: { ...store, assertLease } });
  expect(checks).toBe(world.requests().filter((request) => request.method !== 'GET').length);

  const leased = await store.lease('O1');
  if ('leasedBy' in leased) throw new Error('expected the lease');
  leased.renewedAtMs -= 15_001;
  expect(() => store.assertLease(leased)).toThrow(LeaseLostError);
  await store.renew(leased);
  expect(() => store.assertLease(leased)).not.toThrow();
});
