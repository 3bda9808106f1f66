import { expect } from 'vitest';
import { writeQueries } from '../harness/order-shop.ts';
import { orderTest } from '../harness/order-test.ts';

const test = orderTest.extend('worldOptions', { environment: { ORDER_LEASE_SECONDS: '1', ORDER_BATCH_SIZE: '2' } });

test('if a step fails, a first push leaves no cursor, and a later run moves none', async ({ world }) => {
  await writeQueries(world.environment.SHOP_SQL_DIR, {
    changed_orders: 'select code, updated_at as changed_at from o where updated_at >= :since',
  });
  await world.shop(`insert into o (code) select 'O' || n from generate_series(1, 9) n;
    insert into l (order_code, line_code, product_id) select code, '1', 7 from o;
    insert into l (order_code, line_code, product_id) values ('O1', '2', 7)`);
  const sync = async () => (await world.run('sync-orders')).outcome;
  // If no order has a line, and other rows are there, the queries of the shop may be wrong: nothing is pushed.
  const hide = () => world.shop(`update l set order_code = 'not ' || order_code`);
  const show = () => world.shop('update l set order_code = substr(order_code, 5)');
  const cursor = () => world.warehouse('select orders_cursor from sync.settings where orders_cursor is not null');
  await hide();
  expect([await sync(), await cursor()]).toEqual(['incomplete', []]);
  await show();
  expect(await sync()).toBe('done');
  await world.shop(`update o set user_code = 'x', updated_at = now() where code in ('O3', 'O4')`);
  await hide();
  const before = await cursor();
  expect(before).toHaveLength(1);
  expect([await sync(), await cursor()]).toEqual(['incomplete', before]);
  await show();
  expect(await sync()).toBe('done');
  expect(await world.atService(`select from reference_service.orders where user_code = 'x'`)).toHaveLength(2);
});

test('more orders without a code than a batch holds keep no first push from its end', async ({ world }) => {
  await world.shop(
    `insert into o (code) select '' from generate_series(1, 5); insert into o (code) values ('A'), ('B')`,
  );
  expect((await world.run('sync-orders')).outcome).toBe('done');
  // No run reads the orders without a code; doctor names them.
  expect((await world.cli('doctor')).stdout).toMatch(
    /orders\.sql: 5 rows that runs may not find, such as: code is an empty text, expected a value \(an order created at 20/,
  );
  expect(await world.atService('select from reference_service.orders')).toHaveLength(2);
});
