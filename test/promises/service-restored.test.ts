import { expect } from 'vitest';
import { orderTest as test } from '../harness/order-test.ts';
import { line, order } from '../harness/shop-orders.ts';

const old = new Date(Date.now() - 90 * 86_400_000);
const state = `select o.code, o.user_email, (select array_agg(s.product_id::integer order by s.product_id)
    from reference_service.sub_orders s where s.order_id = o.id) as products
  from reference_service.orders o order by o.code`;

test('a run that meets a lost order names the command that brings all back', async ({ world }) => {
  const contact = (code: string) => ({ user_email: `${code.toLowerCase()}@example.com` });
  await world.place(
    order('A', contact('A'), line('1', 7)),
    order('CHANGED', contact('CHANGED'), line('1', 7), line('2', 8)),
    order('OLD', contact('OLD'), line('1', 7)),
    order('YOUNG', contact('YOUNG'), line('1', 9)),
    order('WITHHELD', contact('WITHHELD'), line('1', 7)),
  );
  await world.shop(`update o set created_at = created_at - interval '20 days' where code = 'OLD'`);
  await world.shop(
    `create table later as select * from o where code = 'WITHHELD'; delete from o where code = 'WITHHELD'`,
  );
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  await world.shop('insert into o select * from later');
  expect(await world.run('backfill-orders')).toMatchObject({ outcome: 'done' });
  // Four weeks later.
  await world.shop('update o set created_at = $1 where code = $2', [old, 'OLD']);
  await world.rememberDates();
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });

  // As after the restoration of a backup.
  await world.atService(`delete from reference_service.orders where code <> 'A'`);
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  await world.shop(`update o set total_price = 7, updated_at = now() where code = 'CHANGED'`);
  const met = await world.cli('sync', 'orders');
  expect(met.status).toBe(1);
  expect(met.stdout + met.stderr).toContain('The service had lost 1 order pushed before');
  expect(met.stdout + met.stderr).toContain('review-sync verify orders --repair');

  expect(await world.cli('verify', 'orders')).toMatchObject({ status: 1 });
  expect(await world.cli('verify', 'orders', '--repair')).toMatchObject({ status: 0 });
  expect(await world.atService('select code from reference_service.orders')).toHaveLength(5);
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  expect(await world.atService(state)).toEqual([
    { code: 'A', user_email: 'a@example.com', products: [7] },
    { code: 'CHANGED', user_email: 'changed@example.com', products: [7, 8] },
    { code: 'OLD', user_email: null, products: [7] },
    { code: 'WITHHELD', user_email: null, products: [7] },
    { code: 'YOUNG', user_email: 'young@example.com', products: [9] },
  ]);
  expect(await world.cli('verify', 'orders')).toMatchObject({ status: 0 });
  // All is done: nothing is sent and nothing is said any more.
  world.serviceRule(() => 'pass');
  expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
  expect(world.requests()).toEqual([]);
});

test('an order that has got the id of a lost one is neither compared nor deleted', async ({ world }) => {
  await world.place(order('A', { user_email: 'a@example.com' }, line('1', 7)), order('B', line('1', 7)));
  await world.sync();
  // Of an order that the service has made again without contact nobody says that it went with contact.
  const said = async () => (await world.cli('explain', 'order', 'A')).stdout;
  expect(await said()).toContain('with e-mail and phone');
  await world.atService(`delete from reference_service.orders where code = 'A'`);
  await world.shop(`update o set total_price = 7 where code = 'A'`);
  await world.cli('backfill', 'orders');
  expect(await said()).toContain('without e-mail and phone');
  // The backup lacked A and B; another system made an order first, and then B came back.
  await world.atService(`
    update reference_service.orders set code = 'OTHER' where code = 'A';
    update reference_service.orders set code = 'MINE' where code = 'B'`);
  await world.atService(`
    insert into reference_service.orders overriding system value select (jsonb_populate_record(o, '{"id": 4711, "code": "B"}')).*
    from reference_service.orders o where code = 'MINE'`);
  const { differing } = JSON.parse((await world.cli('verify', 'orders', '--json')).stdout);
  expect(differing).toBe(2);
  const previewed = JSON.parse((await world.cli('preview', 'order', 'A', '--json')).stdout);
  expect(JSON.stringify(previewed)).not.toContain('OTHER');
  await world.shop('update o set deleted_at = now(), updated_at = now()');
  await world.sync({ deletes: 'send' });
  expect(await world.atService('select code from reference_service.orders order by code')).toEqual([
    { code: 'MINE' },
    { code: 'OTHER' },
  ]);
  expect(await world.warehouse('select from sync.order_links')).toEqual([]);
});
