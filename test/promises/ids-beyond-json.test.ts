import { afterEach, expect, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { type OrderWorld, openOrderWorld } from '../harness/order-world.ts';

let world: OrderWorld;
afterEach(() => world[Symbol.asyncDispose]());

test('an order whose id is beyond 2^53 is a dead letter that says so, after one request', async () => {
  world = await openOrderWorld();
  await world.shop(`insert into o (code) values ('A'), ('B')`);
  world.serviceRule(({ method, path, form }) => {
    const code = form.get('code');
    if (method !== 'POST' || path !== '/v1/orders' || code !== 'A') return 'pass';
    return { status: 201, body: `{"id": 9007199254740993, "code": "${code}", "sub_orders": []}` };
  });
  const end = await runCli(['sync', 'orders'], world.environment);
  expect(end.status).toBe(1);
  expect(end.stdout).toContain('npx review-sync dead-letters');
  const reason = expect.stringContaining('expected an integer up to 9007199254740991 as id, got a larger one');
  expect(await world.openDeadLetters()).toEqual([{ kind: 'order', key: 'A', reason }]);
  const posts = world.requests().filter(({ method, form }) => method === 'POST' && form.get('code') === 'A');
  expect(posts.length).toBe(1);
  expect(await world.atService('select code from reference_service.orders')).toEqual([{ code: 'B' }]);
});
