import { expect } from 'vitest';
import { orderTest as test } from '../harness/order-test.ts';
import { line, order } from '../harness/shop-orders.ts';

test.for([
  ['400', { status: 400 }],
  ['a list of other orders', { status: 200, body: '[{"id": 7, "code": "other"}]' }],
] as const)('on %s to "get order by code" a dry run ends well, and --diff exits 1', async ([, response], { world }) => {
  await world.place(order('A', line('1', 7)), order('B', { user_email: 'b@example.com' }, line('1', 7)));
  world.serviceRule(({ method, path }) => (method === 'GET' && path === '/v1/orders' ? response : 'pass'));
  const forecast = await world.cli('backfill', 'orders', '--dry-run');
  expect(forecast).toMatchObject({ status: 0, stdout: expect.stringContaining('2 to send') });
  expect(world.requests()).toEqual([]);

  const diff = await world.cli('backfill', 'orders', '--dry-run', '--diff');
  expect(diff).toMatchObject({ status: 1 });
  for (const code of ['A', 'B'])
    expect(diff.stdout).toContain(`order ${code}: could not be compared: the service does not look orders up by code`);
  const all = forecast.stdout + forecast.stderr + diff.stdout + diff.stderr;
  expect(all).not.toMatch(/REVIEW_API_BASE_URL|b@example\.com/);
  expect(world.requests().filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('orders that the shop deleted are forgotten, or nothing is wrong with them', async ({ world }) => {
  // B before any push, A while a line of it waited, and C is lost at the service.
  await world.place(order('A', line('1', 7), line('2', 'new')), order('B', line('1', 7)), order('C', line('1', 7)));
  await world.shop(`update o set deleted_at = now() where code = 'B'`);
  await world.sync();
  await world.shop(`update o set deleted_at = now(), updated_at = now() where code = 'A'`);
  await world.sync();
  await world.warehouse(`insert into sync.product_links (product_code, product_id) values ('new', 8)`);
  world.serviceRule(({ method, path }) => (method === 'GET' && path === '/v1/orders' ? { status: 400 } : 'pass'));
  const stdout = expect.stringContaining('2 the same, 0 different, 0 not compared, 1 deleted in the shop');
  expect(await world.cli('verify', 'orders', '--repair')).toMatchObject({ status: 0, stdout });
  expect(world.requests().filter(({ method }) => method !== 'GET')).toEqual([]);
  await world.atService(`delete from reference_service.orders where code = 'C'`);
  await world.shop(`update o set deleted_at = now(), updated_at = now() where code = 'C'`);
  await world.sync({ deletes: 'send' });
  expect(await world.openDeadLetters()).toEqual([]);
  expect(await world.warehouse(`select from sync.order_links where order_code = 'C'`)).toEqual([]);
});
