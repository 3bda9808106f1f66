import { expect } from 'vitest';
import { line, order, orderTest as test } from '../harness/order-world.ts';
import type { ProxiedRequest } from '../harness/proxy.ts';

const isCreate = ({ method, path }: ProxiedRequest) => method === 'POST' && path.endsWith('/sub_orders');
test.for([
  [429, 403],
  [401, 404],
] as const)('what a service made that answers %i is removed an hour later', async ([status, refusal], { world }) => {
  await world.place(order('A', line('1', 7)), order('B', line('1', 7)));
  let left = 1;
  world.serviceRule((request) => (isCreate(request) && left-- > 0 ? { carriedOutWith: status } : 'pass'));
  expect(await world.sync()).toMatchObject({ sub_orders_added: 2 });
  const count = async () => (await world.atService('select from reference_service.sub_orders')).length;
  await world.timePasses('59 minutes');
  await world.sync();
  expect(await count()).toBe(3);
  await world.timePasses('1 minute');
  // Refused once, it goes a day later.
  world.serviceRule(({ method }) => (method === 'DELETE' ? { status: refusal } : 'pass'));
  expect(await world.sync()).not.toHaveProperty('sub_orders_removed');
  world.serviceRule(() => 'pass');
  await world.timePasses('1 day');
  expect(await world.sync()).toMatchObject({ sub_orders_removed: 1 });
  expect([await count(), await world.openDeadLetters()]).toEqual([2, []]);
});
