import { beforeEach, expect, vi } from 'vitest';
import { dueOrders, settleGone } from '../../src/warehouse/orders/due-orders.ts';
import { setAbsent } from '../../src/warehouse/orders/known-orders.ts';
import { makeDue, orderLinks } from '../../src/warehouse/orders/order-links.ts';
import { LeaseLostError, type OrderStore, openOrderStore } from '../../src/warehouse/orders/order-store.ts';
import { until } from '../harness/cli.ts';
import { emptyPush, orders, orderTest as test } from '../harness/order-world.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

const wanted = (code: string, contact: 'allowed' | 'withheld' = 'allowed', isForGood = false) => {
  return { code, contact, isForGood, orderedAt: null };
};

/** A store without a shop and a service, which the tests share. */
const { ask, warehouse } = await openTestWarehouse(6);
const store = openOrderStore(warehouse, { leaseMs: 60_000 });
beforeEach(() => ask('truncate sync.order_links cascade'));

/** The lease of an order that nobody else has. */
async function taken(...order: Parameters<typeof wanted>) {
  const leased = await store.lease(wanted(...order));
  if ('leasedBy' in leased) throw new Error('expected the lease');
  return leased;
}

const created = [{ lineCode: '1', subOrderId: null, content: {}, isOurs: true, idsBefore: [] }];

const leasedInHalfAMinute = `select order_code as code from sync.order_links where lease_expires_at > now() + interval '30 seconds'`;

test('a holder whose lease was taken over writes nothing any more', async () => {
  const first = await taken('O1');
  const second = await store.lease(wanted('O1'));
  expect(second).toMatchObject({ leasedBy: first.token });
  await ask(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
  const third = await store.lease(wanted('O1'));
  expect(third).not.toHaveProperty('leasedBy');
  await expect(store.saveLines(first, created)).rejects.toThrow(LeaseLostError);
  await expect(store.record(first, emptyPush)).rejects.toThrow(LeaseLostError);
  await expect(store.forget(first)).rejects.toThrow(LeaseLostError);
  for (const isBrokenOff of [false, true]) await store.release(first, { isBrokenOff });
  expect(await store.lease(wanted('O1'))).toHaveProperty('leasedBy');
});

test('an order whose push broke off is due, without fingerprint and lease', async () => {
  const isLeft = async (fingerprint: string | null, ...due: string[]) => {
    const before = new Date(Date.now() + 60_000).toISOString();
    expect((await orderLinks(warehouse.db, ['O1'])).get('O1')?.fingerprint).toBe(fingerprint);
    expect(await dueOrders(warehouse.db, { before, isAnyTime: false, after: '', limit: 10 })).toEqual(due);
  };
  await store.record(await taken('O1'), emptyPush);
  await isLeft('f');
  const leased = await taken('O1');
  await isLeft(null, 'O1');
  await store.release(leased, { isBrokenOff: true });
  await isLeft(null, 'O1');

  // Taken and given back without a push, it is as due as before.
  const next = await taken('O1');
  expect(next.link.fingerprint).toBeNull();
  await store.release(next, { isBrokenOff: false });
  await isLeft(null, 'O1');
  await store.record(await taken('O1'), emptyPush);
  await isLeft('f');

  // The order is due, too, if the push before died with its lease.
  await store.lease(wanted('O1'));
  await ask(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
  const again = await taken('O1');
  expect(again.link.fingerprint).toBeNull();
  await store.release(again, { isBrokenOff: false });
  await isLeft(null, 'O1');
});

test('a pushed order is in the shop, waits as before, and is due if made due meanwhile', async () => {
  const push = { ...emptyPush, waiting: [{ lineCode: '1', productCode: 'P' }] };
  await ask(`insert into sync.order_links (order_code, absent_since) values ('O1', now())`);
  await store.record(await taken('O1'), push);
  await ask(`update sync.order_links set waiting_since = '2026-01-01Z', due_at = null`);
  const leased = await taken('O1');
  await makeDue(warehouse.db, ['O1']);
  await store.record(leased, push);
  const found = `select absent_since, waiting_since, due_at <= now() as is_due from sync.order_links`;
  expect(await ask(found)).toEqual([{ absent_since: null, waiting_since: new Date('2026-01-01Z'), is_due: true }]);
});

test('the first push decides about contact for good', async () => {
  for (const contact of ['withheld', 'allowed'] as const) {
    const leased = await taken('O1', contact);
    expect(leased.link.contact).toBe('withheld');
    await store.release(leased, { isBrokenOff: true });
  }
  // Until a push is recorded, a backfill decides, but no repair: the process of the first lease may have sent nothing.
  for (const [contact, isForGood, then] of [
    ['allowed', true, 'allowed'],
    ['withheld', false, 'allowed'],
    ['withheld', true, 'withheld'],
    ['allowed', true, 'withheld'],
  ] as const) {
    const leased = await taken('O3', contact, isForGood);
    expect(leased.link.contact).toBe(then);
    await store.release(leased, { isBrokenOff: true });
  }
  await store.record(await taken('O4', 'allowed'), emptyPush);
  expect((await taken('O4', 'withheld', true)).link.contact).toBe('allowed');
  // Also if a sync asks for the order in the same statement, and gets it.
  await store.release(await taken('O5'), { isBrokenOff: true });
  const both = await Promise.all([store.lease(wanted('O5')), store.lease(wanted('O5', 'withheld', true))]);
  expect(both.flatMap((one) => ('link' in one ? [one.link.contact] : []))).toEqual(['withheld']);
  // A push that was given back before anything was sent has decided nothing.
  for (const contact of ['withheld', 'allowed'] as const) {
    const leased = await taken('O2', contact);
    expect(leased.link.contact).toBe(contact);
    await store.release(leased, { isBrokenOff: false });
  }
});

test('a lease is kept alive in each request, and renewed', async ({ world }) => {
  await world.place(...orders(1, () => 2));
  const { orderStore } = await world.openApp();
  const alive = new Set<string>();
  const keepAlive: OrderStore['keepAlive'] = ({ orderCode }) => {
    alive.add(orderCode);
    return { [Symbol.dispose]: () => void alive.delete(orderCode) };
  };
  const during: string[][] = [];
  world.serviceRule(() => {
    during.push([...alive]);
    return 'pass';
  });
  await world.sync({ store: { ...orderStore, keepAlive } });
  expect(during).toEqual([['O1'], ['O1'], ['O1']]);
  expect([...alive]).toEqual([]);

  const leased = await taken('O1');
  leased.renewedAtMs -= 15_001;
  expect(() => store.assertLease(leased)).toThrow(LeaseLostError);
  // Saving before the requests renews the lease, for this process and for all others.
  await ask(`update sync.order_links set lease_expires_at = now() + interval '1 second'`);
  await store.saveLines(leased, created);
  expect(() => store.assertLease(leased)).not.toThrow();
  expect(await ask(leasedInHalfAMinute)).toEqual([{ code: 'O1' }]);
});

test('the lease is renewed as long as its push lasts, after each tenth of it', async () => {
  const leased = await taken('O1');
  const lost = await taken('O2');
  await store.saveLines(leased, created);
  await ask(`truncate sync.touches; update sync.order_links set lease_expires_at = now() + interval '1 second',
    lease_owner = case order_code when 'O2' then 'another process' else lease_owner end`);
  leased.renewedAtMs = 0;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  {
    using _ofTheOther = store.keepAlive(lost);
    using _heartbeat = store.keepAlive(leased);
    vi.advanceTimersByTime(6000);
    await until(async () => leased.renewedAtMs > 0 && lost.renewedAtMs < 0);
    expect(await ask(leasedInHalfAMinute)).toEqual([{ code: 'O1' }]);
  }
  expect(vi.getTimerCount()).toBe(0);
  // Another process has the lease: nothing more is sent, however short ago it was ours.
  expect(() => store.assertLease(lost)).toThrow(LeaseLostError);
  // A renewal writes nothing else.
  expect(await ask('select line_code as code from sync.sub_order_links')).toEqual([{ code: '1' }]);
  expect(await ask('select from sync.touches')).toEqual([]);
});

test('leases, records and orders made due never wait for each other in a circle', async () => {
  const other = openOrderStore(warehouse, { leaseMs: 60_000 });
  const codes = Array.from({ length: 150 }, (_, n) => `O${n}`);
  const turned = codes.toReversed();
  for (let round = 0; round < 6; round += 1) {
    const leased = await Promise.all(codes.map((code) => store.lease(wanted(code))));
    const ours = leased.filter((one) => 'token' in one);
    expect(ours).toHaveLength(codes.length);
    await Promise.all([
      ...ours.map((one) => store.record(one, emptyPush)),
      ...[1, 2, 3].map(() => makeDue(warehouse.db, turned)),
      ...turned.map((code) => other.lease(wanted(code))),
      setAbsent(warehouse.db, turned, round % 2 === 0),
      settleGone(warehouse.db, turned.slice(50)),
    ]);
    await ask('update sync.order_links set lease_owner = null, lease_expires_at = null');
  }
});
