import { expect } from 'vitest';
import { LeaseLostError } from '../../src/warehouse/leases.ts';
import { openOrderStore } from '../../src/warehouse/orders/order-store.ts';
import { orderTest as test } from '../harness/order-test.ts';
import { until } from '../harness/patience.ts';
import type { Fate } from '../harness/rule-proxy.ts';
import { orders } from '../harness/shop-orders.ts';

const subOrders = 'select count(*)::integer as n from reference_service.sub_orders';

test('a holder whose lease was taken over writes nothing any more, and the lease says who holds the order', async ({
  world,
}) => {
  await world.place(...orders(1, () => 2));
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

test('a lease that could not be returned, or whose taking brought no response, is returned once the warehouse is back', async ({
  world,
}) => {
  await world.place(...orders(1, () => 2));
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

test('a holder that is frozen before it creates a sub-order creates none after another process took the order over', async ({
  world,
}) => {
  await world.place(...orders(1, () => 2));
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

test('the lease is checked right before every write, and one that was not renewed lets nothing be sent', async ({
  world,
}) => {
  await world.place(...orders(1, () => 2));
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
