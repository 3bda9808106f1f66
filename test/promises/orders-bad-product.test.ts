import { expect } from 'vitest';
import { orderTest as test } from '../harness/order-test.ts';
import { line, order } from '../harness/shop-orders.ts';

test.for([404, 500])(
  'a product of which the service answers %i to each sub-order stops only its lines, however many orders have one',
  async (status, { world }) => {
    const numbered = Array.from({ length: 20 }, (_, index) => index + 1);
    await world.place(...numbered.map((n) => order(`O${n}`, line('1', 7), line('2', 8))));
    world.serviceRule(({ method, path, form }) =>
      method === 'POST' && path.endsWith('/sub_orders') && form.get('product_id') === '7' ? { status } : 'pass',
    );
    const end = await world.cli('sync', 'orders', '--json');
    expect(end.status).toBe(1);
    expect(JSON.parse(end.stdout).counts).toMatchObject({ orders_pushed: 20, lines_failed: 20 });
    const good = 'select count(*)::integer as n from reference_service.sub_orders where product_id = 8';
    expect(await world.atService(good)).toEqual([{ n: 20 }]);
    expect(await world.openDeadLetters()).toHaveLength(20);
  },
);
