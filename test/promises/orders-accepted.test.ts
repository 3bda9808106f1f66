import { expect } from 'vitest';
import { orderTest } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import type { Fate } from '../harness/proxy.ts';
import { line, order } from '../harness/shop-orders.ts';

const test = orderTest.extend('worldOptions', { environment: { ORDER_DELETES: 'send' } });

/** Four orders whose next run changes a sub-order, clears a field, deletes the order, and removes a sub-order. */
async function changeAfterPush(world: OrderWorld): Promise<void> {
  await world.place(
    order('changed', line('1', 7)),
    order('cleared', line('1', 7, { invoice: 'I1' })),
    order('deleted', line('1', 7)),
    order('emptied', line('1', 7), line('2', 8)),
  );
  await world.sync();
  await world.shop(`update l set status = 'delivery_finished', invoice = null where order_code in ('changed', 'cleared');
    update o set updated_at = now(), deleted_at = case when code = 'deleted' then now() end;
    delete from l where order_code = 'emptied' and line_code = '2'`);
}

const withoutBody = (world: OrderWorld, fate: Fate) =>
  world.serviceRule(({ method }) => (method === 'PUT' || method === 'DELETE' ? fate : 'pass'));

const service = `select o.code, s.product_id::integer as product, s.status, s.invoice from reference_service.orders o
  left join reference_service.sub_orders s on s.order_id = o.id order by o.code, product`;
const before = [
  { code: 'changed', product: 7, status: 'paid', invoice: null },
  { code: 'cleared', product: 7, status: 'paid', invoice: 'I1' },
  { code: 'deleted', product: 7, status: 'paid', invoice: null },
  { code: 'emptied', product: 7, status: 'paid', invoice: null },
  { code: 'emptied', product: 8, status: 'paid', invoice: null },
];
const inLine = [
  { code: 'changed', product: 7, status: 'delivery_finished', invoice: null },
  { code: 'cleared', product: 7, status: 'delivery_finished', invoice: null },
  { code: 'emptied', product: 7, status: 'paid', invoice: null },
];

test.for<[string, { status: number; body: string }, string]>([
  ['status 202 alone', { status: 202, body: '' }, 'expected status 200, 201 or 204, got 202'],
  ['a web page', { status: 200, body: '<!DOCTYPE html><html><body>We will be back soon.</body></html>' }, ''],
])(
  'a change or deletion that is only answered with %s fails; the next run makes it',
  async ([_, fate, reason], { world }) => {
    await changeAfterPush(world);
    withoutBody(world, fate);
    expect(await world.sync()).toMatchObject({ lines_failed: 3, orders_failed: 1 });
    expect(await world.atService(service)).toEqual(before);
    const deadLetters = await world.openDeadLetters();
    expect(deadLetters.map(({ key }) => key)).toEqual(['deleted', 'changed/1', 'cleared/1', 'emptied/2']);
    for (const one of deadLetters) expect(one.reason).toContain(reason);

    world.serviceRule(() => 'pass');
    await world.sync();
    expect(await world.atService(service)).toEqual(inLine);
    expect(await world.openDeadLetters()).toEqual([]);
  },
);

test('a change or deletion that is carried out is done also if it is answered with 202', async ({ world }) => {
  await changeAfterPush(world);
  withoutBody(world, { carriedOutWith: 202 });
  const limits = { giveUpAfterMs: 5000, settleMs: 1 };
  expect(await world.sync({ limits })).toMatchObject({ orders_pushed: 3, orders_deleted: 1 });
  expect(await world.atService(service)).toEqual(inLine);
  expect(await world.openDeadLetters()).toEqual([]);
  expect(await world.warehouse('select order_code from sync.order_links where lease_owner is not null')).toEqual([]);
  // What is remembered is what the service holds: the next run has nothing to send.
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(world.requests().filter(({ method }) => method !== 'GET')).toEqual([]);
});
