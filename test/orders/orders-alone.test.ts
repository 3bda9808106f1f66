import { expect } from 'vitest';
import { line, order, orderShopQueries, orders, orderTest as test } from '../harness/order-world.ts';

const atService = `select count(*)::integer as orders, (select count(*)::integer from reference_service.sub_orders) as lines
  from reference_service.orders`;

test('a slow order, and many that always get a 500, stop no other one and no cursor', async ({ world }) => {
  await world.place(...orders(60));
  const bad = Array.from({ length: 7 }, (_, n) => `O${n * 8 + 1}`);
  const lastCame = Promise.withResolvers<void>();
  world.serviceRule(async ({ method, path, form }) => {
    const code = method === 'POST' && path === '/v1/orders' ? (form.get('code') ?? '') : '';
    if (code === 'O60') lastCame.resolve();
    if (code === 'O2') await lastCame.promise;
    return bad.includes(code) ? { status: 500 } : 'pass';
  });
  // They are sent again for two seconds, so they end last, one after the other.
  const limits = { giveUpAfterMs: 2000, settleMs: 1 };
  expect(await world.sync({ limits })).toMatchObject({ orders_pushed: 53, orders_failed: 7 });
  const cursor = 'select orders_cursor as at from sync.settings where orders_cursor is not null';
  expect(await world.warehouse(cursor)).toHaveLength(1);

  // Now only they are pushed, and none succeeds.
  expect(await world.sync()).toMatchObject({ orders_failed: 7 });
  world.serviceRule(() => 'pass');
  await world.timePasses('10 minutes');
  await world.sync();
  expect(await world.atService(atService)).toEqual([{ orders: 60, lines: 60 }]);
  expect(await world.openDeadLetters()).toEqual([]);

  // A service that fails for every order stops the run, and leaves no dead letter.
  await world.shop('update o set total_price = 7, updated_at = now()');
  const before = await world.warehouse(cursor);
  world.serviceRule(({ method, path }) => (method === 'POST' && path === '/v1/orders' ? { status: 503 } : 'pass'));
  await expect(world.sync()).rejects.toThrow('503');
  // It was waited for, before the step is tried again.
  expect(world.requests().filter(({ method, path }) => method === 'GET' && path === '/v1/orders')).toHaveLength(1);
  expect((await world.openDeadLetters()).length).toBeLessThan(5);
  expect(await world.warehouse(cursor)).toEqual(before);
  world.serviceRule(() => 'pass');
  await world.sync();
  expect(await world.atService('select distinct total_price::integer as total from reference_service.orders')).toEqual([
    { total: 7 },
  ]);
  expect(await world.openDeadLetters()).toEqual([]);
});

test('products whose sub-orders always get 404 or 500 stop only their lines', async ({ world }) => {
  const numbered = Array.from({ length: 8 }, (_, index) => index + 1);
  await world.place(...numbered.map((n) => order(`O${n}`, line('1', n % 2 ? 7 : 9), line('2', 8))));
  const statuses: Record<string, number> = { 7: 404, 9: 500 };
  world.serviceRule(({ method, path, form }) => {
    const status = statuses[form.get('product_id') ?? ''];
    return method === 'POST' && path.endsWith('/sub_orders') && status ? { status } : 'pass';
  });
  expect(await world.sync()).toMatchObject({ orders_pushed: 8, lines_failed: 8 });
  const good = 'select count(*)::integer as n from reference_service.sub_orders where product_id = 8';
  expect(await world.atService(good)).toEqual([{ n: 8 }]);
  expect(await world.openDeadLetters()).toHaveLength(8);
});

test('an empty value that the service refuses holds back no other change of its line', async ({ world }) => {
  await world.place(order('A', line('1', 7, { invoice: 'I-1', product_options: { size: 'S' } })));
  await world.sync();
  world.serviceRule(({ method, form }) => (method === 'PUT' && form.get('invoice') === '' ? { status: 422 } : 'pass'));
  await world.shop(`update l set invoice = null, status = 'delivered', product_options = '{}';
    update o set updated_at = now()`);
  expect(await world.sync()).toMatchObject({ orders_pushed: 1, sub_orders_changed: 1, lines_failed: 1 });
  expect(await world.atService('select status, invoice from reference_service.sub_orders')).toEqual([
    { status: 'delivered', invoice: 'I-1' },
  ]);
  expect(await world.openDeadLetters()).toMatchObject([{ kind: 'order_line', key: 'A/1' }]);
});

test('a run with --allow-removals sends what fails once, what failed before at once', async ({ world }) => {
  await world.place(order('A', line('1', 7)), order('B', line('1', 8)));
  world.serviceRule(({ path }) => (path.endsWith('/sub_orders') ? { status: 422 } : 'pass'));
  expect(await world.sync({ allowRemovals: true })).toMatchObject({ orders: 2, lines_failed: 2 });
  await world.shop(`update o set updated_at = now() - interval '1 year'`);
  world.serviceRule(() => 'pass');
  expect(await world.sync()).not.toHaveProperty('sub_orders_added');
  expect(await world.sync({ allowRemovals: true })).toMatchObject({ orders: 2, sub_orders_added: 2 });
});

test('a dead letter closes when its value goes back, its row or its order is deleted', async ({ world }) => {
  await world.place(...orders(4));
  await world.sync();
  await world.shop(`update o set order_device = 'fridge', updated_at = now() where code in ('O1', 'O2');
    insert into l (order_code, line_code) values ('O3', 'faulty'); update o set updated_at = now() where code = 'O3';
    insert into l (order_code, line_code, product_code) values ('O4', 'waits', 'unknown');
    update o set updated_at = now() where code = 'O4'; insert into o (code, order_device) values ('NEW', 'fridge')`);
  // After the second failure the next attempt is ten minutes away.
  for (let run = 1; run <= 2; run += 1) await world.sync();
  expect((await world.openDeadLetters()).map((one) => one.key)).toEqual(['NEW', 'O1', 'O2', 'O3/faulty']);
  await world.shop(`update o set order_device = null, updated_at = now() where code = 'O1'; delete from l where order_code = 'O2';
    delete from o where code = 'O2'; update o set deleted_at = now(), updated_at = now() where code in ('O3', 'O4');
    update o set deleted_at = now(), updated_at = now(), order_device = null where code = 'NEW'`);
  expect(await world.sync()).toMatchObject({ orders_deleted_kept: 2, orders_deleted_in_shop: 1 });
  // Nothing but its next attempt shows that an order is gone.
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'O2' }]);
  await world.timePasses('10 minutes');
  await world.sync();
  expect(await world.openDeadLetters()).toEqual([]);
  // An order that the shop deleted before any push of it could begin is not created.
  expect(await world.atService(`select from reference_service.orders where code = 'NEW'`)).toEqual([]);
  expect(await world.warehouse('select from sync.order_links where waiting_lines is not null')).toEqual([]);
});

/** The shop cancels each statement that reads one of these orders. */
const cancelling = (...codes: string[]) => `
  create or replace function cancelled(code text) returns text stable language plpgsql as $$ begin
    if code = any('{${codes}}') then
      raise 'canceling statement due to conflict with recovery' using errcode = case code when 'O18' then '40P01' else '40001' end;
    end if;
    return 'Kim'; end $$`;

test('an order on which the shop’s standby cancels every statement stops only itself', async ({ openWorld }) => {
  const orders = 'select o.*, cancelled(code) as user_name from o';
  const world = await openWorld({ environment: { SHOP_SQL_DIR: await orderShopQueries({ orders }) } });
  await world.shop(cancelling('O17', 'O18'));
  await world.place(...Array.from({ length: 20 }, (_, n) => order(`O${n}`)));
  expect(await world.sync()).toMatchObject({ orders_pushed: 18, orders_failed: 2 });
  const reason = expect.stringMatching(/conflict with recovery.*hot_standby_feedback/);
  expect(await world.openDeadLetters()).toMatchObject([
    { key: 'O17', reason },
    { key: 'O18', reason },
  ]);
  await world.shop(cancelling());
  expect(await world.sync()).toMatchObject({ orders_pushed: 2 });
  expect(await world.openDeadLetters()).toEqual([]);
  // A pushed order that cannot be read is not gone from the shop.
  await world.shop(cancelling('O17'));
  await world.run('rescan-orders');
  expect(await world.openDeadLetters()).toMatchObject([{ key: 'O17' }]);
  expect(await world.warehouse('select from sync.order_links where absent_since is not null')).toEqual([]);
});
