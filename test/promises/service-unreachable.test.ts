import { expect } from 'vitest';
import { orderDeps } from '../../src/app/deps.ts';
import { shortLimits } from '../../src/app/require-same-service.ts';
import { showOrder } from '../../src/orders/compare/show-order.ts';
import { pushOrders } from '../../src/orders/push/push-orders.ts';
import { settleVanished } from '../../src/orders/push/vanished-orders.ts';
import { openReviewApi, UnavailableError } from '../../src/review-api/index.ts';
import { freePort } from '../../src/sandbox/embedded-postgres/index.ts';
import { line, order, orders, orderTest as test } from '../harness/order-world.ts';
import { rightsOf } from '../harness/sync-orders.ts';

test('without a connection no order fails, and a rescan names what it could not delete', async ({ world }) => {
  await world.place(...orders(2));
  const baseUrl = `http://127.0.0.1:${await freePort()}`;
  await using api = openReviewApi({ baseUrl, clientId: 'demo', clientSecret: 'demo', ...shortLimits });
  const app = await world.openApp();
  const deps = { ...orderDeps(app, new AbortController().signal), api };
  const rights = rightsOf(app, { deletes: 'send' });
  await expect(pushOrders(deps, ['O1', 'O2'], rights)).rejects.toThrow(UnavailableError);
  expect(await world.openDeadLetters()).toEqual([]);
  expect(await world.sync()).toMatchObject({ orders_pushed: 2 });
  const lookupFault = expect.stringContaining('ECONNREFUSED');
  expect(await showOrder(deps, 'O1', rights)).toMatchObject({ service: undefined, lookupFault });

  await world.shop(`delete from o where code = 'O1'`);
  await world.warehouse(`update sync.order_links set absent_since = now() - interval '2 days' where order_code = 'O1'`);
  const problem = expect.stringContaining('not deleted at the service: 1 order, such as O1');
  expect(await settleVanished(deps, '2000-01-01T00:00:00Z', rights)).toMatchObject({ problem });
});

test('if no order is found by its code, a dry run ends well and --diff exits 1', async ({ world }) => {
  await world.place(order('A', line('1', 7)), order('B', { user_email: 'b@example.com' }, line('1', 7)));
  for (const response of [{ status: 400 }, { status: 200, body: '[{"id": 7, "code": "other"}]' }]) {
    world.serviceRule(({ method, path }) => (method === 'GET' && path === '/v1/orders' ? response : 'pass'));
    const forecast = await world.says('backfill orders --dry-run', '2 to send');
    expect([forecast.status, world.requests()]).toEqual([0, []]);
    const why = 'could not be compared: the service does not look orders up by code';
    const diff = await world.says('backfill orders --dry-run --diff', `order A: ${why}`, `order B: ${why}`);
    expect([diff.status, world.writes()]).toEqual([1, []]);
    const all = forecast.stdout + forecast.stderr + diff.stdout + diff.stderr;
    expect(all).not.toMatch(/REVIEW_API_BASE_URL|b@example\.com/);
  }
});
