import { expect } from 'vitest';
import { LeaseLostError } from '../../src/warehouse/leases.ts';
import { openOrderStore, type PushRecord } from '../../src/warehouse/orders/order-store.ts';
import { orderTest as test } from '../harness/order-test.ts';
import { line, order } from '../harness/shop-orders.ts';

const allowed = { contact: 'allowed' as const, orderedAt: null };

test('a holder whose lease was taken over neither records its push nor forgets the order', async ({ world }) => {
  await world.place(order('O1', line('1', 1)));
  const store = await openOrderStore((await world.openApp()).warehouse.db, { leaseMs: 60_000 });
  const old = await store.lease('O1', allowed);
  if ('leasedBy' in old) throw new Error('expected the lease');
  await world.warehouse(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
  const holder = await store.lease('O1', allowed);
  if ('leasedBy' in holder) throw new Error('expected the lease');

  await expect(store.record(old, emptyPush)).rejects.toThrow(LeaseLostError);
  await expect(store.forget(old)).rejects.toThrow(LeaseLostError);
  const links = 'select lease_owner, fingerprint from sync.order_links';
  expect(await world.warehouse(links)).toEqual([{ lease_owner: holder.token, fingerprint: null }]);
});

test('an order is still deleted when the shop deletes it after its worker was stopped between the POST and the sub-orders', async ({
  world,
}) => {
  await world.place(order('O1', line('1', 1)));
  const stopped = new AbortController();
  world.serviceRule(({ method, path }) => {
    if (method === 'POST' && path === '/v1/orders') stopped.abort();
    return 'pass';
  });
  await expect(world.sync({ signal: stopped.signal })).rejects.toThrow();
  const orders = 'select code from reference_service.orders';
  expect(await world.atService(orders)).toEqual([{ code: 'O1' }]);
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  await world.sync({ deletes: 'send' });
  expect(await world.atService(orders)).toEqual([]);
});

const emptyPush: PushRecord = {
  orderId: 1,
  fingerprint: 'of the old holder',
  sentFields: [],
  failedPushes: 0,
  dueAfterMs: null,
  userGradeCode: undefined,
  userGradeId: undefined,
  orderedAt: new Date(),
  lines: [],
  dropLinks: [],
  waiting: [],
  deadLetters: [],
};
