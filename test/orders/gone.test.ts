import { expect } from 'vitest';
import { line, order, orderShopQueries, orders, orderTest as test, writeQueries } from '../harness/order-world.ts';

test('orders that the shop does not show are counted, also if they are due', async ({ openWorld }) => {
  const changed_orders = 'select code, changed_at from named where changed_at >= :since';
  const world = await openWorld({ environment: { SHOP_SQL_DIR: await orderShopQueries({ changed_orders }) } });
  await world.place(...orders(11));
  await world.shop(`create table named as select 'O' || n as code, now() as changed_at from generate_series(1, 18) n`);
  // Not the first run, which would read the codes from orders.sql.
  await world.warehouse(
    `update sync.settings set orders_cursor = '{"at": "2026-01-01T00:00:00Z", "readTo": "2026-01-01T00:00:00Z"}'`,
  );
  await world.warehouse(`insert into sync.order_links (order_code, contact, due_at, failed_pushes)
    select 'gone' || n, 'allowed', now(), 1 from generate_series(1, 20) n`);
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done', counts: { orders_gone: 27 } });
  expect(await world.atService('select from reference_service.orders')).toHaveLength(11);
  expect(await world.warehouse('select from sync.order_links where due_at is not null')).toEqual([]);
});

test('a feed with other codes names pushed orders; a new one waits for the rescan', async ({ openWorld }) => {
  const branch = 'updated_at as changed_at from o where updated_at >= :since';
  const feeds = {
    otherwise: `select ' ' || lower(code) as code, ${branch}`,
    twice: `select code, ${branch} union all select lower(code), ${branch}`,
  };
  const folder = await orderShopQueries({ changed_orders: feeds.otherwise });
  const world = await openWorld({ environment: { SHOP_SQL_DIR: folder } });
  await world.place(order('Ab1', line('1', 7)));
  // The first run reads the codes from orders.sql.
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  await world.place(order('NEW', line('1', 7)));
  await world.shop(`update o set total_price = 7, updated_at = now()`);
  expect(await world.sync()).toMatchObject({ orders_pushed: 1, orders_gone: 1 });
  expect(await world.codesAtService()).toEqual(['Ab1']);
  await world.run('rescan-orders');
  expect(await world.codesAtService()).toEqual(['Ab1', 'NEW']);
  expect(await world.openDeadLetters()).toEqual([]);
  // Named in both spellings, a code is one order, and none is gone.
  await writeQueries(folder, { changed_orders: feeds.twice });
  await world.shop(`update o set total_price = 8, updated_at = now() where code = 'Ab1'`);
  expect(await world.sync()).toMatchObject({ orders_pushed: 1, orders_gone: 0 });
});
