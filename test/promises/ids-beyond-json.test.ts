import { expect } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { orderTest as test } from '../harness/order-test.ts';
import { order } from '../harness/shop-orders.ts';

test('an order whose id is beyond 2^53 is a dead letter that says so, after a few requests, and others go on', async ({
  world,
}) => {
  await world.place(order('A'), order('B'));
  world.serviceRule(({ method, path, form }) => {
    if (method !== 'POST' || path !== '/v1/orders' || form.get('code') !== 'A') return 'pass';
    return { status: 201, body: `{"id": 9007199254740993, "code": "A", "sub_orders": []}` };
  });
  expect((await runCli(['sync', 'orders'], world.environment)).status).toBe(1);
  const reason = expect.stringContaining('expected an integer as id, got a number beyond 2^53 - 1');
  expect(await world.openDeadLetters()).toEqual([{ kind: 'order', key: 'A', reason }]);
  const posts = world.requests().filter(({ method, form }) => method === 'POST' && form.get('code') === 'A');
  expect(posts.length).toBeLessThan(6);
  expect(await world.atService('select code from reference_service.orders')).toEqual([{ code: 'B' }]);
});
