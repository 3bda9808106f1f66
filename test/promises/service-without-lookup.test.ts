import { expect } from 'vitest';
import { orderTest as test } from '../harness/order-test.ts';
import { line, order } from '../harness/shop-orders.ts';

test.for([
  ['400', { status: 400 }],
  ['a list of other orders', { status: 200, body: '[{"id": 7, "code": "other"}]' }],
] as const)(
  'a dry run on a service that responds with %s to "get order by code" ends well, and with --diff says what it could not ask and exits 1',
  async ([, response], { world }) => {
    await world.place(order('A', line('1', 7)), order('B', { user_email: 'b@example.com' }, line('1', 7)));
    world.serviceRule(({ method, path }) => (method === 'GET' && path === '/v1/orders' ? response : 'pass'));
    const forecast = await world.cli('backfill', 'orders', '--dry-run');
    expect(forecast).toMatchObject({ status: 0 });
    expect(forecast.stdout).toContain('2 to send');
    expect(world.requests()).toEqual([]);

    const diff = await world.cli('backfill', 'orders', '--dry-run', '--diff');
    expect(diff).toMatchObject({ status: 1 });
    for (const code of ['A', 'B']) {
      expect(diff.stdout).toContain(
        `order ${code}: could not be compared: the service does not look orders up by code`,
      );
    }
    for (const text of [forecast.stdout, forecast.stderr, diff.stdout, diff.stderr]) {
      expect(text).not.toContain('REVIEW_API_BASE_URL');
      expect(text).not.toContain('b@example.com');
    }
    expect(world.requests().filter(({ method }) => method !== 'GET')).toEqual([]);
  },
);

test('an order that the shop deletes, and that such a service has lost, is forgotten', async ({ world }) => {
  await world.place(order('A', line('1', 7)));
  await world.sync();
  await world.atService('delete from reference_service.orders');
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  world.serviceRule(({ method, path }) => (method === 'GET' && path === '/v1/orders' ? { status: 400 } : 'pass'));
  await world.sync({ deletes: 'send' });
  expect(await world.openDeadLetters()).toEqual([]);
  expect(await world.warehouse('select from sync.order_links')).toEqual([]);
});

test('verify finds nothing wrong with orders that the shop deleted before any push, or while a line of them waited', async ({
  world,
}) => {
  await world.place(order('A', line('1', 7), { line_code: '2', product_code: 'new' }), order('B', line('1', 7)));
  await world.shop(`update o set deleted_at = now() where code = 'B'`);
  await world.sync();
  await world.shop(`update o set deleted_at = now(), updated_at = now() where code = 'A'`);
  await world.sync();
  await world.warehouse(`insert into sync.product_links (product_code, product_id) values ('new', 8)`);
  world.serviceRule(({ method, path }) => (method === 'GET' && path === '/v1/orders' ? { status: 400 } : 'pass'));
  const verified = await world.cli('verify', 'orders', '--repair');
  expect(verified).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('1 the same, 0 different, 0 not compared, 1 deleted in the shop'),
  });
  expect(world.requests().filter(({ method }) => method !== 'GET')).toEqual([]);
});
