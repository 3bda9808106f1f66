import { expect } from 'vitest';
import { previewOrder } from '../../src/orders/compare/show-order.ts';
import { verifyOrders } from '../../src/orders/compare/verify-orders.ts';
import { encodeParams, optionPairs } from '../../src/review-api/http/encode.ts';
import { orderTest as test } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import { line, order } from '../harness/shop-orders.ts';
import { orderDeps, rightsOf } from '../harness/sync-orders.ts';

const products = 'insert into reference_service.products (id) values (9), (13) on conflict do nothing';

type Request = { method: string; path: string; body?: Record<string, unknown> };

/** What `preview order` says that the next run sends. @param orderId in place of the id that only the run learns. */
async function previewed(world: OrderWorld, code: string, orderId = ':order_id'): Promise<string[]> {
  const end = await world.cli('preview', 'order', code, '--json');
  const { requests, nothingToSend } = JSON.parse(end.stdout);
  if (nothingToSend !== undefined) return [];
  return requests.map(({ method, path, body = {} }: Request) => {
    const { product_options: options, ...fields } = body as { product_options?: Record<string, string> | null };
    const params = {
      ...fields,
      ...('product_options' in body && { product_options: options && optionPairs(options) }),
    };
    return textOf(method, path.replace(':order_id', orderId), new URLSearchParams(encodeParams(params)));
  });
}

function textOf(method: string, path: string, form: URLSearchParams): string {
  const fields = [...form].filter(([name]) => name !== 'access_token').map((pair) => pair.join('='));
  return [`${method} ${path}`, ...fields.sort()].join(' ');
}

/** What the next `sync orders` really sends, but for GET. */
async function sent(world: OrderWorld): Promise<string[]> {
  world.serviceRule(() => 'pass');
  await world.cli('sync', 'orders');
  const writes = world.requests().filter(({ method }) => method !== 'GET');
  return writes.map(({ method, path, form }) => textOf(method, path, form));
}

const customer = { user_code: 'kim', user_email: 'kim@example.com', user_phone: '010-1111-2222' };
test.for<[string, { created_at?: Date }]>([
  ['young', {}],
  ['old', { created_at: new Date(Date.now() - 90 * 86_400_000) }],
])('preview shows exactly the requests of the next run, where a %s order is new', async ([, dates], { world }) => {
  const lines = [line('1', 7, { product_options: { size: 'M' } }), line('2', 7), line('3', 'P404')];
  await world.place(order('NEW', { ...customer, ...dates }, ...lines));
  const shown = await previewed(world, 'NEW', '1');
  expect(shown).toHaveLength(3);
  expect(await sent(world)).toEqual(shown);
});

test('preview shows exactly the requests of the next run, where another integration made the order before', async ({
  world,
}) => {
  await world.atService(`${products}; insert into reference_service.orders (code, user_email, user_phone, total_price, created_at, updated_at)
    values ('X', 'left@example.com', '010', 1, now(), now());
    insert into reference_service.sub_orders (order_id, product_id, price, created_at, updated_at)
    values (1, 9, 10, now(), now()), (1, 13, 3, now(), now())`);
  await world.place(order('X', { user_code: 'kim' }, line('1', 9, { status: 'delivered' }), line('2', 7)));
  const shown = await previewed(world, 'X');
  // The second POST clears what only the response to the first one shows.
  expect(shown.map((text) => text.split(' ')[0])).toEqual(['POST', 'POST', 'PUT', 'POST']);
  expect(await sent(world)).toEqual(shown);
});

test('preview and verify judge the age by the same clock as the push', async ({ world }) => {
  // Computed once: the shop and the service hold the same instant.
  const old = new Date(Math.floor(Date.now() / 1000) * 1000 - 60 * 86_400_000);
  await world.place(order('OLD', { created_at: old, user_email: 'old@example.com' }));
  // Another integration pushed it without contact.
  await world.atService(
    `insert into reference_service.orders (code, total_price, created_at, updated_at) values ('OLD', 100, $1, now())`,
    [old],
  );
  const now = () => new Date(Date.now() - 50 * 86_400_000);
  const app = await world.openApp();
  const deps = { ...orderDeps(app), now, onProgress() {} };
  expect(await previewOrder(deps, 'OLD', rightsOf(app, { trigger: 'show' }))).toMatchObject({
    withheld: ['user_email'],
    isYoung: false,
  });
  // The e-mail address differs, and no repair may send it.
  const verified = await verifyOrders(deps, { repair: false, rights: rightsOf(app, { trigger: 'repair' }) });
  expect(verified.differences).toEqual([]);
});
