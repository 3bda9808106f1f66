import { expect } from 'vitest';
import { showOrder, type WireRequest } from '../../src/orders/compare/show-order.ts';
import { pushOrders } from '../../src/orders/push/push-orders.ts';
import { encodeParams } from '../../src/review-api/http/send.ts';
import { optionPairs } from '../../src/review-api/resources/resource.ts';
import { createRandom, type Random } from '../../src/sandbox/sample-shop/random.ts';
import { line, order, type ShopOrder, orderTest as test } from '../harness/order-world.ts';
import { testSeed } from '../harness/sampled.ts';
import { orderDeps, rightsOf } from '../harness/sync-orders.ts';

const count = Number(process.env.PROPERTY_RUNS ?? 60);
const sizes = [{ product_options: { size: 'S' } }, { product_options: { size: 'M' } }, { invoice: 'I1' }, {}];

/** An order of up to four lines: young or old, with or without contact. */
function randomOrder(code: string, { integer, chance, pick }: Random): ShopOrder {
  const created_at = new Date(Math.floor(Date.now() / 1000 - (chance(0.2) ? 90 : 1) * 86_400) * 1000);
  const contact = chance(0.6) ? { user_email: `${code}@example.com`, user_phone: '010-1' } : {};
  const lines = Array.from({ length: integer(0, 4) }, (_, at) =>
    line(`${at + 1}`, chance(0.1) ? 'P404' : integer(7, 9), pick(sizes)),
  );
  return order(code, { created_at, user_code: 'kim', ...contact }, ...lines);
}

/** Changes of the order `:code`, by the shop or by somebody at the service. */
const ofLine = `order_code = :code and line_code = '1'`;
const subOrder = `select min(s.id) from reference_service.sub_orders s join reference_service.orders o on o.id = s.order_id
  where o.code = :code`;
const products = 'insert into reference_service.products (id) values (9), (13) on conflict do nothing';
const byShop = [
  `update o set total_price = '12.5000', order_device = 'pc' where code = :code`,
  'update o set user_email = null, user_phone = null where code = :code',
  `update o set user_email = 'new@example.com', user_code = null where code = :code`,
  `update l set status = 'delivered', price = 12 where order_code = :code`,
  `update l set product_options = '{"size": "L"}' where ${ofLine}`,
  `update l set product_options = '{}', invoice = null, status = 'sent' where order_code = :code`,
  `update l set product_options = '[1]' where ${ofLine}`,
  `delete from l where ${ofLine}`,
  'delete from l where order_code = :code',
  `insert into l (order_code, line_code, product_id) values (:code, '8', 7)`,
  `insert into l (order_code, line_code, product_code) values (:code, '9', 'P405')`,
  `update l set line_code = line_code || 'x' where order_code = :code`,
  `update l set line_code = '' where ${ofLine}`,
  `update l set product_id = 12 where ${ofLine}`,
  'update o set deleted_at = now() where code = :code',
  'update o set deleted_at = now(), user_email = null, user_phone = null where code = :code',
];
const loseSubOrder = `delete from reference_service.sub_orders where id = (${subOrder})`;
const atService = [
  loseSubOrder,
  'delete from reference_service.orders where code = :code',
  `update reference_service.orders set user_name = 'Kim', user_phone = '010-9' where code = :code`,
  `update reference_service.sub_orders set price = 3, invoice = 'X', status = 'lost' where id = (${subOrder})`,
  `insert into reference_service.reviews (sub_order_id, created_at, updated_at)
    select id, now(), now() from (${subOrder}) one (id) where id is not null`,
  `${products}; insert into reference_service.sub_orders (order_id, product_id, price, created_at, updated_at)
    select id, product, 10, now(), now() from reference_service.orders, unnest(array[9, 13]) product where code = :code`,
];

/** The requests as lines of text, one order's beside another's. */
function textOf(method: string, path: string, form: URLSearchParams): string {
  const fields = [...form].filter(([name]) => name !== 'access_token').map((pair) => pair.join('='));
  return [`${method} ${path}`, ...fields.sort()].join(' ');
}

function previewed({ method, path, body = {} }: WireRequest): string {
  const { product_options: options, ...fields } = body as { product_options?: Record<string, string> | null };
  const params = {
    ...fields,
    ...('product_options' in body && { product_options: options ? optionPairs(options) : [''] }),
  };
  return textOf(method, path, new URLSearchParams(encodeParams(params)));
}

test.for(['off', 'send'])(
  'the wire has what a preview printed before, for random orders: deletes %s',
  async (deletes, { openWorld }) => {
    const world = await openWorld({ environment: { ORDER_DELETES: deletes } });
    const random = createRandom(testSeed);
    const codes = Array.from({ length: count }, (_, n) => `O${n}`);
    // A part is new, a part was pushed before, and a part of these changes.
    const all = codes.map((code) => randomOrder(code, random));
    await world.place(...all.slice(count / 4));
    await world.sync();
    const hasLost = new Set<string>();
    const changes: Record<'shop' | 'service', string[]> = { shop: [], service: [] };
    for (const code of codes.slice(count / 4)) {
      const of = (change: string) => change.replaceAll(':code', `'${code}'`);
      changes.shop.push(...random.sample(byShop, random.integer(0, 3)).map(of));
      const change = random.chance(0.4) ? random.pick(atService) : undefined;
      if (change) changes.service.push(of(change));
      if (change === loseSubOrder) hasLost.add(code);
    }
    await world.shop(changes.shop.join(';'));
    await world.atService(changes.service.join(';'));
    await world.place(...all.slice(0, count / 4));
    // Some of the new ones were made by another integration before.
    await world.atService(`${products};
      insert into reference_service.orders (code, user_email, user_phone, total_price, created_at, updated_at)
        select 'O' || n, 'left@example.com', '010', 1, now(), now() from generate_series(0, 9) n;
      insert into reference_service.sub_orders (order_id, product_id, price, created_at, updated_at)
        select id, product, 10, now(), now() from reference_service.orders, unnest(array[9, 13]) product
        where user_email = 'left@example.com'`);
    await world.shop('update o set updated_at = now()');
    const app = await world.openApp();
    const deps = orderDeps(app);
    // More is removed than a day allows.
    const rights = rightsOf(app, { deletes: deletes as 'off' | 'send', allowRemovals: true });
    const preview = async (code: string) => {
      const { requests, nothingToSend, lookupFault } = await showOrder(deps, code, rights);
      expect({ code, lookupFault }).toEqual({ code });
      return [code, nothingToSend === undefined ? requests.map(previewed) : []] as const;
    };
    // As a push reads: on a slow machine more at a time would give up waiting for one of the shop’s connections.
    const shown = new Map(await app.sliceSlots.map(codes, preview));
    const idsOf = async () => {
      const rows = await world.atService<{ id: string; code: string }>('select id, code from reference_service.orders');
      return rows.map(({ id, code }) => [id, code] as const);
    };
    const before = await idsOf();
    world.serviceRule(() => 'pass');
    await pushOrders(deps, codes, rights);
    const codeOf = new Map([...before, ...(await idsOf())]);
    const wire = Map.groupBy(
      world.requests().filter(({ method }) => method !== 'GET'),
      ({ path, form }) => form.get('code') ?? codeOf.get(path.split('/')[3] ?? ''),
    );
    const isNew = new Set(before.map(([id]) => id));
    for (const code of codes) {
      const sent = (wire.get(code) ?? []).map(({ method, path, form }) => {
        const id = path.split('/')[3] ?? '';
        return textOf(method, isNew.has(id) ? path : path.replace(`/${id}/`, '/:order_id/'), form);
      });
      const expected = shown.get(code) ?? [];
      // Only the 404 to a change shows that a sub-order is gone, and then it is made again.
      const compared = hasLost.has(code) ? sent.slice(0, expected.length) : sent;
      expect({ code, sent: compared }).toEqual({ code, sent: expected });
    }
    const methods = [...wire.values()].flat().map(({ method }) => method);
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect(methods.filter((one) => one === method).length).toBeGreaterThan(count / 20);
  },
);
