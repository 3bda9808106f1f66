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
const deleted = 'update o set deleted_at = now(), user_email = null, user_phone = null';

/** Each changes the order `:code` after it was pushed once with two lines, by the shop or by somebody at the service. */
type Change = { shop?: string; service?: string };
const line1 = `order_code = :code and line_code = '1'`;
const kinds: Record<string, Change> = {
  'did not change': {},
  'changed in its fields': { shop: `update o set total_price = '12.5000', order_device = 'pc' where code = :code` },
  'lost its contact': { shop: 'update o set user_email = null, user_phone = null where code = :code' },
  'became old': { shop: `update o set created_at = now() - interval '90 days', total_price = 7 where code = :code` },
  'has a changed line': {
    shop: `update l set status = 'delivered', product_options = '{"size": "M"}' where order_code = :code and line_code = '2'`,
  },
  'has a line that lost a value': { shop: `update l set invoice = null where ${line1}` },
  'lost a line': { shop: `delete from l where ${line1}` },
  'got another line': { shop: `insert into l (order_code, line_code, product_id) values (:code, '3', 7)` },
  'has a line with a new code': { shop: `update l set line_code = '9' where ${line1}` },
  'lost a line and got another': { shop: `update l set product_id = 12, line_code = '8' where ${line1}` },
  'lost all its lines': { shop: 'delete from l where order_code = :code' },
  'waits for a product': { shop: `insert into l (order_code, line_code, product_code) values (:code, '3', 'P404')` },
  'has a line that cannot be read': { shop: `update l set product_options = '[1]' where ${line1}` },
  'was deleted in the shop': { shop: `${deleted} where code = :code` },
  'was deleted in the shop and has reviews': {
    shop: `${deleted} where code = :code`,
    service: `insert into reference_service.reviews (sub_order_id, created_at, updated_at)
      select min(s.id), now(), now() from reference_service.sub_orders s join reference_service.orders o on o.id = s.order_id
      where o.code = :code`,
  },
  'changed while the service lost it': {
    shop: 'update o set total_price = 7 where code = :code',
    service: 'delete from reference_service.orders where code = :code',
  },
  'has sub-orders of somebody else at the service': {
    shop: `insert into l (order_code, line_code, product_id) values (:code, '3', 9)`,
    service: `${products}; insert into reference_service.sub_orders (order_id, product_id, price, created_at, updated_at)
      select id, product, 10, now(), now() from reference_service.orders, unnest(array[9, 13]) product where code = :code`,
  },
  'got a contact at the service that the shop does not have': {
    shop: 'update o set user_phone = null, total_price = 7 where code = :code',
    service: `update reference_service.orders set user_name = 'Kim', user_phone = '010-9' where code = :code`,
  },
};

test.for(['off', 'send'])(
  'preview shows exactly the requests of the next run, whatever changed an order, with ORDER_DELETES=%s',
  async (deletes, { openWorld }) => {
    const world = await openWorld({ environment: { ORDER_DELETES: deletes } });
    const codes = Object.keys(kinds);
    await world.place(...codes.map((code) => order(code, customer, line('1', 7, { invoice: 'X1' }), line('2', 8))));
    expect(await world.cli('sync', 'orders')).toMatchObject({ status: 0 });
    for (const [code, { shop, service }] of Object.entries(kinds)) {
      if (shop) await world.shop(shop.replaceAll(':code', `'${code}'`));
      if (service) await world.atService(service.replaceAll(':code', `'${code}'`));
    }
    await world.rememberDates();
    await world.shop('update o set updated_at = now()');
    const shown = new Map<string, string[]>();
    for (const code of codes) shown.set(code, await previewed(world, code));
    const really = await sent(world);
    const ids = await world.atService<{ code: string; id: string }>('select code, id from reference_service.orders');
    const idOf = new Map(ids.map(({ code, id }) => [code, id]));
    for (const [code, before] of shown) {
      // The id of the order that the service lost is learned by the run.
      const requests = before.map((one) => one.replace(':order_id', idOf.get(code) ?? ''));
      if (Object.keys(kinds[code] ?? {}).length > 0) expect({ code, requests }).not.toEqual({ code, requests: [] });
      expect({ code, requests: really.filter((one) => requests.includes(one)) }).toEqual({ code, requests });
    }
    expect(really).toHaveLength([...shown.values()].flat().length);
  },
);

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
