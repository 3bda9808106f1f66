import { expect, onTestFinished, vi } from 'vitest';
import { dueOrders, settleGone } from '../../src/warehouse/orders/due-orders.ts';
import { setAbsent } from '../../src/warehouse/orders/known-orders.ts';
import { makeDue, orderLinks } from '../../src/warehouse/orders/order-links.ts';
import { LeaseLostError, type OrderStore, openOrderStore } from '../../src/warehouse/orders/order-store.ts';
import { until } from '../harness/cli.ts';
import { emptyPush, type OrderWorld, orders, orderTest as test } from '../harness/order-world.ts';
import { openTestWarehouse } from '../harness/warehouse.ts';

const wanted = (code: string, contact: 'allowed' | 'withheld' = 'allowed') => ({ code, contact, orderedAt: null });

const storeOf = async (world: OrderWorld) => openOrderStore((await world.openApp()).warehouse.db, { leaseMs: 60_000 });

/** A store without a shop and a service. */
async function onlyStore() {
  const { warehouse, ask } = await openTestWarehouse(6);
  return { db: warehouse.db, ask, store: openOrderStore(warehouse.db, { leaseMs: 60_000 }) };
}

/** The lease of an order that nobody else has. */
async function taken(store: OrderStore, ...order: Parameters<typeof wanted>) {
  const leased = await store.lease(wanted(...order));
  if ('leasedBy' in leased) throw new Error('expected the lease');
  return leased;
}

const subOrders = 'select count(*)::integer as n from reference_service.sub_orders';
const leasedInHalfAMinute = `select order_code as code from sync.order_links where lease_expires_at > now() + interval '30 seconds'`;

test('a holder whose lease was taken over writes nothing any more', async () => {
  const { store, ask } = await onlyStore();
  const first = await taken(store, 'O1');
  const second = await store.lease(wanted('O1'));
  expect(second).toMatchObject({ leasedBy: first.token });
  await ask(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
  const third = await store.lease(wanted('O1'));
  expect(third).not.toHaveProperty('leasedBy');
  await expect(store.saveLines(first, [])).rejects.toThrow(LeaseLostError);
  await expect(store.record(first, emptyPush)).rejects.toThrow(LeaseLostError);
  await expect(store.forget(first)).rejects.toThrow(LeaseLostError);
  for (const isBrokenOff of [false, true]) await store.release(first, { isBrokenOff });
  expect(await store.lease(wanted('O1'))).toHaveProperty('leasedBy');
});

test('an order whose push broke off is due, without fingerprint and lease', async () => {
  const { db, ask, store } = await onlyStore();
  const isLeft = async (fingerprint: string | null, ...due: string[]) => {
    const before = new Date(Date.now() + 60_000).toISOString();
    expect((await orderLinks(db, ['O1'])).get('O1')?.fingerprint).toBe(fingerprint);
    expect(await dueOrders(db, { before, isAnyTime: false, after: '', limit: 10 })).toEqual(due);
  };
  await store.record(await taken(store, 'O1'), emptyPush);
  await isLeft('f');
  const leased = await taken(store, 'O1');
  await isLeft(null, 'O1');
  await store.release(leased, { isBrokenOff: true });
  await isLeft(null, 'O1');

  // Taken and given back without a push, it is as due as before.
  const next = await taken(store, 'O1');
  expect(next.link.fingerprint).toBeNull();
  await store.release(next, { isBrokenOff: false });
  await isLeft(null, 'O1');
  await store.record(await taken(store, 'O1'), emptyPush);
  await isLeft('f');

  // Due, too, where the push before died with its lease.
  await store.lease(wanted('O1'));
  await ask(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
  const again = await taken(store, 'O1');
  expect(again.link.fingerprint).toBeNull();
  await store.release(again, { isBrokenOff: false });
  await isLeft(null, 'O1');
});

test('an order that is made due while it is pushed stays due', async () => {
  const { db, store, ask } = await onlyStore();
  const leased = await taken(store, 'O1');
  await makeDue(db, ['O1']);
  await store.record(leased, emptyPush);
  expect(await ask('select order_code from sync.order_links where due_at <= now()')).toEqual([{ order_code: 'O1' }]);
});

test('a line waits since the first push that found it without its product', async () => {
  const { store, ask } = await onlyStore();
  const push = { ...emptyPush, waiting: [{ lineCode: '1', productCode: 'P' }] };
  await store.record(await taken(store, 'O1'), push);
  await ask(`update sync.order_links set waiting_since = '2026-01-01Z'`);
  await store.record(await taken(store, 'O1'), push);
  expect(await ask(`select from sync.order_links where waiting_since = '2026-01-01Z'`)).toHaveLength(1);
});

test('the first lease decides about contact for good', async () => {
  const { store } = await onlyStore();
  for (const contact of ['withheld', 'allowed'] as const) {
    const leased = await taken(store, 'O1', contact);
    expect(leased.link.contact).toBe('withheld');
    await store.release(leased, { isBrokenOff: true });
  }
  // One that was given back before anything was sent has decided nothing.
  for (const contact of ['withheld', 'allowed'] as const) {
    const leased = await taken(store, 'O2', contact);
    expect(leased.link.contact).toBe(contact);
    await store.release(leased, { isBrokenOff: false });
  }
});

test('a holder that is frozen as another process takes the order creates nothing', async ({ world }) => {
  await world.place(...orders(1, () => 2));
  const app = await world.openApp();
  const renewing = openOrderStore(app.warehouse.db, { leaseMs: 4000 });
  // Frozen: the process stands still between what it writes down and the creations.
  let other: Promise<unknown> | undefined;
  const saveLines: typeof renewing.saveLines = async (leased, lines) => {
    await renewing.saveLines(leased, lines);
    if (other) return;
    await world.warehouse(`update sync.order_links set lease_expires_at = now() - interval '1 second'`);
    leased.renewedAtMs -= 4000;
    other = world.sync();
    await other;
  };
  const store = { ...renewing, saveLines, keepAlive: () => ({ [Symbol.dispose]() {} }) };
  await world.sync({ store });
  expect(other).toBeDefined();
  expect(await world.atService(subOrders)).toEqual([{ n: 2 }]);
});

test('the lease is kept alive during each request, checked before each write, and renewed', async ({ world }) => {
  await world.place(...orders(1, () => 2));
  const store = await storeOf(world);
  let checks = 0;
  const assertLease: typeof store.assertLease = (leased) => {
    checks += 1;
    store.assertLease(leased);
  };
  const alive = new Set<string>();
  const keepAlive: typeof store.keepAlive = ({ orderCode }) => {
    alive.add(orderCode);
    return { [Symbol.dispose]: () => void alive.delete(orderCode) };
  };
  const during: string[][] = [];
  world.serviceRule(() => {
    during.push([...alive]);
    return 'pass';
  });
  await world.sync({ store: { ...store, assertLease, keepAlive } });
  expect(checks).toBe(world.writes().length);
  expect(during).toEqual([['O1'], ['O1'], ['O1']]);
  expect([...alive]).toEqual([]);

  const leased = await taken(store, 'O1');
  leased.renewedAtMs -= 15_001;
  expect(() => store.assertLease(leased)).toThrow(LeaseLostError);
  // What is written down before the requests renews it, for this process and for all others.
  await world.warehouse(`update sync.order_links set lease_expires_at = now() + interval '1 second'`);
  await store.saveLines(leased, []);
  expect(() => store.assertLease(leased)).not.toThrow();
  expect(await world.warehouse(leasedInHalfAMinute)).toEqual([{ code: 'O1' }]);
});

test('an order that is pushed is no order that left the shop', async () => {
  const { store, ask } = await onlyStore();
  await ask(`insert into sync.order_links (order_code, absent_since) values ('O1', now())`);
  const leased = await taken(store, 'O1');
  await store.record(leased, emptyPush);
  expect(await ask('select absent_since from sync.order_links')).toEqual([{ absent_since: null }]);
});

test('the lease is renewed as long as its push lasts, after each tenth of it', async () => {
  const { store, ask } = await onlyStore();
  const leased = await taken(store, 'O1');
  const lost = await taken(store, 'O2');
  await store.saveLines(leased, [{ lineCode: '1', subOrderId: null, content: {}, isOurs: true, idsBefore: [] }]);
  await ask(`delete from sync.touches; update sync.order_links set lease_expires_at = now() + interval '1 second',
    lease_owner = case order_code when 'O2' then 'another process' else lease_owner end`);
  leased.renewedAtMs = 0;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
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
  const { store, db, ask } = await onlyStore();
  const other = openOrderStore(db, { leaseMs: 60_000 });
  const codes = Array.from({ length: 150 }, (_, n) => `O${n}`);
  const turned = codes.toReversed();
  for (let round = 0; round < 6; round += 1) {
    const leased = await Promise.all(codes.map((code) => store.lease(wanted(code))));
    const ours = leased.filter((one) => 'token' in one);
    expect(ours).toHaveLength(codes.length);
    await Promise.all([
      ...ours.map((one) => store.record(one, emptyPush)),
      ...[1, 2, 3].map(() => makeDue(db, turned)),
      ...turned.map((code) => other.lease(wanted(code))),
      setAbsent(db, turned, round % 2 === 0),
      settleGone(db, turned.slice(50)),
    ]);
    await ask('update sync.order_links set lease_owner = null, lease_expires_at = null');
  }
});
