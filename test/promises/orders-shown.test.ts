import { expect } from 'vitest';
import { line, order, orderTest as test } from '../harness/order-world.ts';
import { type Answer, all, type Call, eachObject, startChangingProxy } from '../harness/proxy.ts';

const isOrder = ({ path }: Call) => /^\/v1\/orders/.test(path);

const shows = (change: (fields: Record<string, unknown>) => void) => (target: string) =>
  startChangingProxy(target, {
    answer: (answer: Answer, call: Call) => {
      if (isOrder(call)) eachObject(answer.body, change);
    },
  });

test('line codes that are positions may move: no sub-order changes its product', async ({ world }) => {
  await world.place(order('A', line('1', 1), line('2', 2), line('3', 3)));
  await world.sync();
  let reviews = 1;
  await world.through(
    shows((fields) => {
      // A product that was deleted at the service concerns nothing else.
      if (fields.product_id === 1)
        Object.assign(fields, { product_id: reviews > 0 ? 1 : null, reviews_count: reviews });
    }),
  );
  const subOrders = () => world.atService('select id, product_id from reference_service.sub_orders order by id');
  const before = await subOrders();
  await world.shop(`delete from l where line_code = '1'; update l set line_code = (line_code::integer - 1)::text;
    update o set updated_at = now()`);
  expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0 });
  expect(await subOrders()).toEqual(before);
  reviews = 0;
  await world.shop(
    `delete from l where line_code = '1'; update l set line_code = '1'; update o set updated_at = now()`,
  );
  expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0 });
  expect(await world.atService('select product_id from reference_service.sub_orders where product_id > 1')).toEqual([
    { product_id: '3' },
  ]);
});

test('two codes that are one order at the service are both dead letters', async ({ world }) => {
  // It takes codes in any case for one.
  await world.through((target) =>
    startChangingProxy(target, {
      call: (call) => {
        if (all('orders').test(call.path) && call.method === 'POST')
          call.form.set('code', call.form.get('code')?.toLowerCase() ?? '');
      },
    }),
  );
  await world.place(order('xK3f', line('1', 1)), order('other', line('1', 2)));
  expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0 });
  // Pushed after the first, and two that are pushed side by side.
  await world.place(order('Xk3F', line('1', 3)), order('pQ', line('1', 4)), order('Pq', line('1', 5)));
  expect(await world.cli('sync', 'orders')).toMatchObject({ status: 1 });
  const letters = await world.openDeadLetters();
  const letter = { kind: 'order', key: 'Xk3F', reason: expect.stringContaining('"xK3f"') };
  expect(letters).toContainEqual(letter);
  expect(letters.filter(({ key }) => key.toLowerCase() === 'pq')).not.toEqual([]);
  await world.cli('sync', 'orders');
  expect((await world.openDeadLetters()).map(({ key }) => key)).toEqual(expect.arrayContaining(['Xk3F', 'xK3f']));
  const lines = await world.atService(
    `select o.code, count(*)::integer, min(s.product_id) as product from reference_service.sub_orders s
      join reference_service.orders o on o.id = s.order_id where o.code <> 'other' group by 1 order by 1`,
  );
  expect(lines.filter(({ code }) => code === 'xk3f')).toEqual([{ code: 'xk3f', count: 1, product: '1' }]);
  expect(lines.filter(({ count }) => count !== 1)).toEqual([]);
  expect((await world.cli('verify', 'orders')).stdout).toContain('1 the same, 0 different, 4 not compared');
});
