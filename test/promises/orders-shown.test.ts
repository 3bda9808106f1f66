import { expect } from 'vitest';
import { line, order, orderTest as test } from '../harness/order-world.ts';
import { type Answer, type Call, eachObject, startChangingProxy } from '../harness/proxy.ts';

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
