import { expect } from 'vitest';
import { contract } from '../../src/shop/rows.ts';
import { line, type OrderWorld, order, orderTest as test, writeQueries } from '../harness/order-world.ts';

/** Values in SQL, one after the other, of each column of orders.sql that is sent. */
const orderFields: Record<string, string[]> = {
  created_at: [`date_trunc('hour', now())`, `date_trunc('hour', now()) - interval '1 second'`],
  total_price: ['100', '0'],
  user_code: [`'kim'`, `'lee'`, 'null'],
  user_name: [`'Kim'`, `'Lee'`, 'null'],
  user_email: [`'kim@example.com'`, `'lee@example.com'`, 'null'],
  user_phone: [`'010-1'`, `'010-2'`, 'null'],
  user_grade_code: [`'silver'`, `'gold'`, 'null'],
  store_name: [`'Store 1'`, `'Store 2'`, 'null'],
  order_device: [`'pc'`, `'mobile'`, 'null'],
  mileage: ['5', '0', 'null'],
};
/** The same of order_lines.sql. A status that becomes null stays, see sub-orders.test.ts. */
const lineFields: Record<string, string[]> = {
  product_id: ['1', '2'],
  // As a shop pads it; the service has it without the space.
  product_code: [`'P1'`, `'P2 '`],
  price: ['10', '10.01'],
  status: [`'paid'`, `'delivered'`],
  delivery_started_at: [`timestamptz '2026-01-02 03:04:05Z'`, `timestamptz '2026-01-02 03:04:06Z'`, 'null'],
  delivered_at: [`timestamptz '2026-01-03 03:04:05Z'`, `timestamptz '2026-01-03 03:04:06Z'`, 'null'],
  invoice: [`'I-1'`, `'I-2'`, 'null'],
  delivery_service: [`'Post'`, `'Courier'`, 'null'],
  product_options: [`jsonb '{"size": "S"}'`, `jsonb '{"size": "M"}'`, 'null'],
};
/** The names of fields in a request, if they differ. */
const sentAs: Record<string, string> = { user_grade_code: 'user_grade_id', product_code: 'product_id' };

/** Columns that are no field of the service. */
const notSent = ['code', 'updated_at', 'deleted_at', 'order_code', 'line_code'];

const names = [...Object.keys(orderFields), ...Object.keys(lineFields)];

test('the tables above have every column of the contract', () => {
  const columns = [...contract.orders, ...contract.order_lines].map(({ name }) => name);
  expect(names.toSorted()).toEqual(columns.filter((name) => !notSent.includes(name)).toSorted());
});

/** One order for each field, named like it, with the first value of all fields. */
async function placeOrders(world: OrderWorld): Promise<void> {
  const first = (fields: Record<string, string[]>) => Object.values(fields).map(([value]) => value);
  const { product_code: _, ...filled } = lineFields;
  await world.shop(`
    alter table o add column user_name text, add column store_name text, add column mileage integer,
      add column user_grade_code text;
    alter table l add column delivery_service text, add column delivery_started_at timestamptz,
      add column delivered_at timestamptz`);
  await world.warehouse(`
    insert into sync.user_grade_links (user_grade_code, user_grade_id, fingerprint) values ('silver', 1, ''), ('gold', 2, '')`);
  await world.atService(`insert into reference_service.user_grades (name, created_at, updated_at)
    values ('S', now(), now()), ('G', now(), now())`);
  await world.warehouse(`insert into sync.product_links (product_code, product_id) values ('P1', 1), ('P2', 2)`);
  await world.shop(`
    insert into o (code, ${Object.keys(orderFields)})
      select code, ${first(orderFields)} from unnest('{${names}}'::text[]) as code;
    insert into l (order_code, line_code, ${Object.keys(filled)}) select code, '1', ${first(filled)} from o;
    update l set product_id = null, product_code = 'P1' where order_code = 'product_code'`);
}

type Fields = Record<string, string>;

/** A run, and the last request that it sent about each order and each sub-order. */
async function sentBy(world: OrderWorld): Promise<{ orders: Record<string, Fields>; lines: Record<string, Fields> }> {
  world.serviceRule(() => 'pass');
  await world.sync();
  const requests = world.requests().filter(({ method }) => method !== 'GET');
  const codes = await world.atService<{ path: string; code: string }>(`
    select '/v1/orders/' || o.id || '/sub_orders/' || s.id as path, o.code
    from reference_service.orders o join reference_service.sub_orders s on s.order_id = o.id`);
  const codeOf = new Map(codes.map(({ path, code }) => [path, code]));
  const sent = { orders: {} as Record<string, Fields>, lines: {} as Record<string, Fields> };
  for (const { method, path, form } of requests) {
    form.delete('access_token');
    const fields = Object.fromEntries([...form].map(([key, value]) => [key.replace(/\[.*/, ''), value]));
    if (path === '/v1/orders') sent.orders[form.get('code') ?? ''] = fields;
    else sent.lines[`${method} ${codeOf.get(path) ?? path}`] = fields;
  }
  return sent;
}

const changedKeys = (before: Fields = {}, after: Fields = {}) =>
  Object.keys({ ...before, ...after }).filter((key) => before[key] !== after[key]);

test('each field that changes or is cleared is sent alone, and nothing else is', async ({ world }) => {
  await placeOrders(world);
  let before = await sentBy(world);
  for (const step of [1, 2]) {
    const of = (fields: Record<string, string[]>) => Object.entries(fields).filter(([, values]) => values[step]);
    for (const [name, values] of of(orderFields)) {
      await world.shop(`update o set ${name} = ${values[step]}, updated_at = now() where code = '${name}'`);
    }
    for (const [name, values] of of(lineFields)) {
      await world.shop(`update l set ${name} = ${values[step]} where order_code = '${name}';
        update o set updated_at = now() where code = '${name}'`);
    }
    const after = await sentBy(world);
    const changed = [...of(orderFields), ...of(lineFields)].map(([name]) => name);
    expect(Object.keys(after.orders).toSorted()).toEqual(changed.toSorted());
    for (const name of changed) {
      const keys = changedKeys(before.orders[name], after.orders[name]);
      expect({ name, keys }).toEqual({ name, keys: name in orderFields ? [sentAs[name] ?? name] : [] });
    }
    const lines = Object.entries(after.lines).map(([request, fields]) => [request, Object.keys(fields)]);
    expect(Object.fromEntries(lines)).toEqual(
      Object.fromEntries(of(lineFields).map(([name]) => [`PUT ${name}`, [sentAs[name] ?? name]])),
    );
    before = { orders: { ...before.orders, ...after.orders }, lines: {} };
  }
  expect(await sentBy(world)).toEqual({ orders: {}, lines: {} });
  await world.ends(0, 'verify orders');
});

test('a phone number that the service keeps is named, and keeps no e-mail address', async ({ world }) => {
  await world.place(order('A', { user_phone: '010-0000-0000' }, line('1', 1)), order('B'));
  await world.sync();
  await world.atService(`update reference_service.orders set user_email = 'other@example.com' where code = 'A'`);
  await world.shop(`update o set user_phone = null, updated_at = now() where code = 'A'`);
  world.serviceRule(({ form }) => {
    return { form: new URLSearchParams([...form].filter(([name]) => name !== 'user_phone')) };
  });
  await world.sync();
  const contact = { user_email: null, user_phone: '010-0000-0000' };
  const ofA = `select user_email, user_phone from reference_service.orders where code = 'A'`;
  expect(await world.atService(ofA)).toEqual([contact]);
  const named = [{ key: 'A', reason: expect.stringMatching(/^the service keeps user_phone although/) }];
  expect(await world.openDeadLetters()).toMatchObject(named);
  // The row is purged, and the number is still there.
  await world.shop(`delete from o where code = 'A'`);
  await world.syncDaily(2);
  expect(await world.openDeadLetters()).toMatchObject(named);
  // So it is when the customer is forgotten.
  await world.ends(0, 'forget order A --apply');
  await world.syncDaily(1);
  const masked = [{ key: 'A', reason: expect.stringContaining('the service keeps a value of the order') }];
  expect(await world.openDeadLetters()).toMatchObject(masked);
  await world.says('forget order A --apply', /^No record here names this code; masked/);
});

test('what another integration wrote stays until the queries select such a column', async ({ world }) => {
  const select = (orders: string, lines: string) =>
    writeQueries(world.environment.SHOP_SQL_DIR, {
      orders: `select code, created_at, updated_at, total_price${orders} from o`,
      order_lines: `select order_code, line_code, product_id, price, status${lines} from l`,
    });
  const shown = () =>
    world.atService(`
      select o.user_name, o.user_email, o.user_phone, s.invoice, s.delivered_at, s.product_options
      from reference_service.orders o join reference_service.sub_orders s on s.order_id = o.id`);
  await select('', '');
  await world.place(order('A', line('1', 1)));
  await world.sync();
  await world.atService(`
    update reference_service.orders set user_name = 'Kim', user_email = 'kim@example.com', user_phone = '010-1';
    update reference_service.sub_orders set invoice = 'I-1', delivered_at = '2026-01-02', product_options = '{"size": "S"}'`);
  const before = await shown();
  await world.shop('update l set price = 12; update o set updated_at = now()');
  expect(await world.sync()).toMatchObject({ sub_orders_changed: 1 });
  expect(await shown()).toEqual(before);
  await select(', null as user_name, user_email, user_phone', ', invoice, null::jsonb as product_options');
  await world.shop('update o set total_price = 7, updated_at = now()');
  await world.sync();
  expect(await shown()).toMatchObject([
    { user_name: null, user_email: null, user_phone: null, invoice: null, product_options: {} },
  ]);
});
