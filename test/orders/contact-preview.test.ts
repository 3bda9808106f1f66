import { expect, test } from 'vitest';
import { orderDeps } from '../../src/app/deps.ts';
import { previewOrder } from '../../src/orders/compare/show-order.ts';
import { verifyOrders } from '../../src/orders/compare/verify-orders.ts';
import { openOrderWorld } from '../harness/order-world.ts';

test('preview and verify judge the age by the same clock as the push', async () => {
  await using world = await openOrderWorld();
  // Computed once: the shop and the service hold the same instant.
  const old = `'${new Date(Math.floor(Date.now() / 1000) * 1000 - 60 * 86_400_000).toISOString()}'`;
  await world.shop(`insert into o (code, created_at, user_email) values ('OLD', ${old}, 'old@example.com')`);
  // Another integration pushed it without contact.
  const columns = 'code, total_price, created_at, updated_at';
  await world.atService(`insert into reference_service.orders (${columns}) values ('OLD', 100, ${old}, now())`);
  const app = await world.openApp();
  const now = () => new Date(Date.now() - 50 * 86_400_000);
  const deps = { ...orderDeps(app, new AbortController().signal), now, onProgress() {} };
  expect(await previewOrder(deps, 'OLD')).toMatchObject({ withheld: ['user_email'], isYoung: false });
  // The e-mail address differs, and no repair may send it.
  const verified = await verifyOrders(deps, { start: undefined, end: undefined }, { repair: false });
  expect(verified.differences).toEqual([]);
});
