import { expect } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { orderTest } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import type { Fate } from '../harness/rule-proxy.ts';
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

test('a change or deletion that the service only accepts (202) and does not carry out fails, and the next run makes it', async ({
  openWorld,
}) => {
  // The service may still be at it: the next run waits until the lease has run out.
  const world = await openWorld({ environment: { ORDER_LEASE_SECONDS: '4' } });
  await changeAfterPush(world);
  withoutBody(world, { status: 202, body: '' });
  expect(await world.sync()).toMatchObject({ lines_failed: 3, orders_failed: 1 });
  expect(await world.atService(service)).toEqual(before);
  const deadLetters = await world.openDeadLetters();
  expect(deadLetters.map(({ key }) => key)).toEqual(['deleted', 'changed/1', 'cleared/1', 'emptied/2']);
  for (const { reason } of deadLetters) expect(reason).toContain('expected status 200, 201 or 204, got 202');

  world.serviceRule(() => 'pass');
  await world.sync();
  expect(await world.atService(service)).toEqual(inLine);
  expect(await world.openDeadLetters()).toEqual([]);
});

test('a change or deletion that the service answers with 202 and carries out is done, since reading the order shows it', async ({
  world,
}) => {
  await changeAfterPush(world);
  withoutBody(world, { carriedOutWith: 202 });
  const retryBudget = {
    beforeCheckMs: 5000,
    afterCheckMs: 5000,
    pauseMs: 1,
    totalMs: 60_000,
    totalAfterFailedPushMs: 60_000,
  };
  expect(await world.sync({ retryBudget })).toMatchObject({
    sub_orders_changed: 2,
    sub_orders_removed: 1,
    orders_deleted: 1,
  });
  expect(await world.atService(service)).toEqual(inLine);
  expect(await world.openDeadLetters()).toEqual([]);
  expect(await world.warehouse('select order_code from sync.order_links where lease_owner is not null')).toEqual([]);
  // What is remembered is what the service holds: the next run has nothing to send.
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(world.requests().filter(({ method }) => method !== 'GET')).toEqual([]);
});

/** Accepts changes, and carries them out without the values that are empty. */
const keepsEmptied = (world: OrderWorld) =>
  world.serviceRule(({ method, form }) => {
    const filled = new URLSearchParams([...form].filter(([, value]) => value !== ''));
    return method === 'PUT' ? { carriedOutWith: 202, form: filled } : 'pass';
  });
const writesOf = (world: OrderWorld) => world.requests().filter(({ method }) => method !== 'GET');

test('a field that the service accepts empty (202) and keeps is named once, in place of a failure in each run', async ({
  openWorld,
}) => {
  const world = await openWorld({ environment: { ORDER_LEASE_SECONDS: '4' } });
  await world.place(
    order('alone', line('1', 7, { invoice: 'I1' })),
    order('with more', line('1', 7, { invoice: 'I1' })),
  );
  await world.sync();
  await world.shop(`update l set invoice = null, price = case when order_code = 'alone' then price else 77 end;
    update o set updated_at = now()`);
  keepsEmptied(world);
  await world.sync();
  const reasons = async () => (await world.openDeadLetters()).map(({ reason }) => reason);
  const kept = expect.stringMatching(/the service keeps invoice of sub-order .*clear it there by hand/);
  // The price shows that the one change was carried out. Of the other nothing shows it: the service may still be at it.
  expect(await reasons()).toEqual([expect.stringContaining('got 202'), kept]);
  await world.timePasses('1 minute');
  await world.sync();
  expect(await reasons()).toEqual([kept, kept]);
  for (const time of ['10 minutes', '2 hours']) {
    await world.timePasses(time);
    keepsEmptied(world);
    // As long as the dead letters are open, runs name them; they send nothing, and nothing fails again.
    const end = await runCli(['sync', 'orders', '--json'], world.environment);
    expect(JSON.parse(end.stdout).counts).not.toHaveProperty('lines_failed');
    expect(writesOf(world)).toEqual([]);
  }
  await world.timePasses('1 day');
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(await reasons()).toEqual([]);
  expect(await world.atService('select distinct invoice from reference_service.sub_orders')).toEqual([
    { invoice: null },
  ]);
});

test('a change or deletion is done with an empty response of status 200, 201 or 204', async ({ openWorld }) => {
  for (const status of [200, 201, 204]) {
    const world = await openWorld();
    await changeAfterPush(world);
    withoutBody(world, { carriedOutWith: status });
    expect(await world.sync()).toMatchObject({ sub_orders_changed: 2, sub_orders_removed: 1, orders_deleted: 1 });
    expect(await world.openDeadLetters()).toEqual([]);
  }
});
