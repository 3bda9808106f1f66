import { expect } from 'vitest';
import { line, order, orderTest as test } from '../harness/order-world.ts';
import type { Fate } from '../harness/proxy.ts';

test.for<[string, Fate | 'held']>([
  ['held back', 'held'],
  ['refused', { status: 403 }],
  ['unknown to the service', { status: 404 }],
])('an order whose deletion is %s stays at the service without contact', async ([_, fate], { world }) => {
  await world.place(order('O1', { user_email: 'kim@example.com', user_phone: '010-1' }, line('1', 7)));
  await world.sync();
  world.environment.ORDER_DELETES = 'send';
  if (fate === 'held')
    await world.warehouse('update sync.settings set removals_taken_at = array_fill(now(), array[50])');
  world.serviceRule(({ method }) => (method === 'DELETE' && fate !== 'held' ? fate : 'pass'));
  await world.shop('update o set deleted_at = now(), updated_at = now(); delete from l');
  const said = '1 of them are deleted in the shop and WOULD BE DELETED at the service';
  await world.says('sync orders --dry-run', said);
  const failed = await world.run('sync-orders');
  expect(failed).toMatchObject({ outcome: 'incomplete', counts: { orders_failed: 1 } });
  const service = `select o.user_email, o.user_phone, count(s.id)::integer as lines from reference_service.orders o
    left join reference_service.sub_orders s on s.order_id = o.id group by o.id`;
  expect(await world.atService(service)).toEqual([{ user_email: null, user_phone: null, lines: 1 }]);
  expect(await world.openDeadLetters()).toMatchObject([{ kind: 'order', key: 'O1' }]);
  await world.ends(1, 'dead-letters retry');
  expect(world.writes().filter(({ method }) => method === 'POST')).toHaveLength(1);
  world.serviceRule(() => 'pass');
  // The shop has no change that was not read.
  await world.shop(`update o set updated_at = now() - interval '1 day'`);
  await world.says('sync orders --dry-run --allow-removals', `${said}, but for those with reviews.`);
  await world.done('sync-orders', { allowRemovals: true });
  expect(await world.atService(service)).toEqual([]);
  // The service has nothing of the order any more, so the next run does not say that it keeps it.
  await world.shop('update o set updated_at = now()');
  const later = await world.done('sync-orders');
  expect(later).toMatchObject({ orders_deleted_in_shop: 1 });
  for (const { counts } of [failed, { counts: later }]) expect(counts).not.toHaveProperty('orders_deleted_kept');
});

test('a process that read an order does not create it after another deleted it', async ({ world }) => {
  const { orderStore } = await world.openApp();
  for (const code of ['DELETED', 'LEASED']) {
    await world.place(order(code, { updated_at: new Date() }));
    const [isRead, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const lease: typeof orderStore.lease = async (wanted) => {
      isRead.resolve();
      await mayGoOn.promise;
      return orderStore.lease(wanted);
    };
    const slow = world.sync({ deletes: 'send', store: { ...orderStore, lease } });
    await isRead.promise;
    await world.sync({ deletes: 'send' });
    await world.shop(`update o set deleted_at = now(), updated_at = now() where code = '${code}'`);
    expect(await world.sync({ deletes: 'send' })).toMatchObject({ orders_deleted: 1 });
    // A third process took the lease to push an older reading, and was killed before it read the order again.
    if (code === 'LEASED')
      await world.warehouse(
        `insert into sync.order_links (order_code, lease_owner, lease_expires_at) values ('LEASED', 'dead', now())`,
      );
    mayGoOn.resolve();
    await slow;
    expect(await world.codesAtService()).toEqual([]);
    expect(await world.warehouse('select * from sync.order_links')).toEqual([]);
  }
});

test('an order that the shop is to delete later is neither sent, cleared nor deleted', async ({ world }) => {
  world.environment.ORDER_DELETES = 'send';
  const email = 'kim@example.com';
  await world.place(order('O1', { user_email: email }, line('1', 7)), order('O2', { user_email: email }));
  await world.sync();
  await world.place(order('NEW'));
  const deletedIn = (hours: number) =>
    world.shop(`update o set deleted_at = now() + $1 * interval '1 hour', updated_at = now()`, [hours]);
  await deletedIn(25);
  world.serviceRule(() => 'pass');
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'incomplete', counts: { orders_failed: 3 } });
  expect(world.requests()).toEqual([]);
  expect(await world.openDeadLetters()).toMatchObject(['NEW', 'O1', 'O2'].map((key) => ({ kind: 'order', key })));
  await world.says('preview order O1', 'deleted_at is in the future');
  // Clocks and zones differ by less than a day.
  await deletedIn(23);
  await world.done('sync-orders');
  expect(await world.codesAtService()).toEqual([]);
});

test('an order that both ends have lost stays remembered while ORDER_DELETES is off', async ({ world }) => {
  await world.place(order('O1'));
  await world.sync();
  await world.atService('delete from reference_service.sub_orders; delete from reference_service.orders');
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  // It has changed and is due, and counts once.
  await world.warehouse('update sync.order_links set due_at = now()');
  expect(await world.json('sync orders --dry-run')).toMatchObject({ orders: 1, toSend: 1, toDelete: 0 });
  await world.done('sync-orders');
  // If an order that forget has masked comes back, it must not be mailed.
  expect(await world.warehouse('select contact from sync.order_links')).toEqual([{ contact: 'allowed' }]);
});

test('a deleted order is looked up by its code, and nothing is remembered of it', async ({ world }) => {
  await world.place(order('A', line('1', 7), line('2', 'unknown')), order('LOST'));
  await world.shop(`insert into l (order_code, line_code) values ('A', 'without product')`);
  await world.sync();
  // Links of orders and of lines, waiting lines, and open dead letters.
  const tables = ['order_links', 'sub_order_links', 'order_links where waiting_lines is not null'];
  const remembered = async () => {
    const rows = [...tables, 'dead_letters where resolved_at is null'];
    return Promise.all(rows.map(async (which) => (await world.warehouse(`select from sync.${which}`)).length));
  };
  expect(await remembered()).toEqual([2, 1, 1, 1]);
  // A discarded dead letter keeps its date.
  await world.warehouse(`insert into sync.dead_letters (kind, key, order_code, reason, payload, resolved_at, is_discarded)
    values ('order_line', 'A/2', 'A', 'old', '{}', '2026-01-01', true)`);
  // Marked as deleted for one run, its line waits on.
  for (const deleted of ['now()', 'null']) {
    await world.shop(`update o set deleted_at = ${deleted}, updated_at = now()`);
    await world.sync();
  }
  expect(await remembered()).toEqual([2, 1, 1, 1]);
  // As a process leaves them that was killed before, and after, the service received its POST.
  await world.warehouse(`update sync.order_links set order_id = null, pushed_at = null`);
  await world.atService(`delete from reference_service.orders where code = 'LOST'`);
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  world.serviceRule(() => 'pass');
  expect(await world.sync({ deletes: 'send' })).toMatchObject({ orders_deleted: 1 });
  expect(world.writes()).toMatchObject([{ method: 'DELETE' }]);
  expect([await world.codesAtService(), await remembered()]).toEqual([[], [0, 0, 0, 0]]);
  expect(await world.warehouse(`select from sync.dead_letters where resolved_at = '2026-01-01'`)).toHaveLength(1);
});
