import { expect } from 'vitest';
import { orders, orderTest as test } from '../harness/order-world.ts';
import type { Fate, ProxiedRequest } from '../harness/proxy.ts';

const isPostOf = (code: string, { method, path, form }: ProxiedRequest) =>
  method === 'POST' && path === '/v1/orders' && form.get('code') === code;

test('a discarded order stays so until it fails for another reason', async ({ world }) => {
  await world.place(...orders(2));
  const failing = async (fate: (request: ProxiedRequest) => Fate) => {
    await world.timePasses('1 day');
    world.serviceRule(fate);
    const { outcome } = await world.run('sync-orders');
    return { outcome, open: await world.openDeadLetters(), isTried: world.writes().length > 0 };
  };
  const refused = (status: number) => (one: ProxiedRequest) => (isPostOf('O2', one) ? { status } : 'pass');
  const discardAll = () =>
    world.warehouse('update sync.dead_letters set is_discarded = true, resolved_at = now() where resolved_at is null');
  expect(await failing(refused(422))).toMatchObject({ outcome: 'incomplete', open: [{ key: 'O2' }] });
  const [letter] = await world.warehouse('select id from sync.dead_letters');
  expect(await world.cli('dead-letters discard', String(letter?.id))).toMatchObject({ status: 0 });
  expect(await failing(refused(422))).toEqual({ outcome: 'done', open: [], isTried: true });
  // By its id it can be tried again all the same.
  const retried = await world.cli('dead-letters retry', String(letter?.id));
  expect(retried).toMatchObject({ status: 1, stdout: expect.stringMatching(/^0 of 1 record: .* Open: 1/) });
  // Recorded by the push, and by the reading of the shop.
  await world.shop(`update l set product_id = 0 where order_code = 'O2'`);
  const unreadable = await failing(() => 'pass');
  expect(unreadable).toMatchObject({ outcome: 'incomplete', open: [{ key: expect.stringMatching(/^O2/) }] });
  await discardAll();
  expect(await failing(() => 'pass')).toMatchObject({ outcome: 'done', open: [] });
  await world.shop(`update l set product_id = 2 where order_code = 'O2'`);
  expect(await failing(refused(413))).toMatchObject({ outcome: 'incomplete', open: [{ key: 'O2' }] });
  // After a success the discard is over, and after another failure too.
  await discardAll();
  expect(await failing(() => 'pass')).toMatchObject({ outcome: 'done', open: [] });
  await world.shop(`update o set total_price = 77, updated_at = now() where code = 'O2'`);
  expect(await failing(refused(413))).toMatchObject({ outcome: 'incomplete', open: [{ key: 'O2' }] });
  await discardAll();
  expect(await failing(refused(422))).toMatchObject({ open: [{ reason: expect.stringContaining('422') }] });
  expect(await failing(refused(413))).toMatchObject({ open: [{ reason: expect.stringContaining('413') }] });
});

test('a fault of the program, or of the warehouse, in one order is its dead letter', async ({ world }) => {
  await world.place(...orders(4));
  await world.warehouse(`alter table sync.sub_order_links add constraint bad check (order_code <> 'O3')`);
  const { api, log } = await world.openApp();
  const broken = {
    ...api,
    orders: {
      ...api.orders,
      upsert: (...args: Parameters<typeof api.orders.upsert>) => {
        if (args[0].code === 'O2') throw new TypeError('undefined is not a function');
        return api.orders.upsert(...args);
      },
    },
  };
  const logged: unknown[] = [];
  const spy = Object.assign(Object.create(log), { error: (fields: unknown) => logged.push(fields) });
  expect(await world.sync({ api: broken, log: spy })).toMatchObject({ orders_pushed: 2, orders_failed: 2 });
  const cannot = 'the order cannot be sent or recorded: ';
  expect(
    await world.warehouse(
      'select kind, key, reason, payload from sync.dead_letters where resolved_at is null order by key',
    ),
  ).toEqual([
    { kind: 'order', key: 'O2', reason: `${cannot}undefined is not a function`, payload: { code: 'O2' } },
    {
      kind: 'order',
      key: 'O3',
      reason: `${cannot}the warehouse refuses one of its values`,
      payload: { code: 'O3' },
    },
  ]);
  expect(logged).toContainEqual(
    expect.objectContaining({ order: 'O2', stack: expect.stringContaining('orders-retry.test') }),
  );
  expect(await world.warehouse('select order_code from sync.order_links where lease_owner is not null')).toEqual([]);

  await world.warehouse('alter table sync.sub_order_links drop constraint bad');
  await world.syncDaily(1);
  expect(await world.openDeadLetters()).toEqual([]);
});
