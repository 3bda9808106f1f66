import { expect } from 'vitest';
import { writeQueries } from '../harness/order-shop.ts';
import { orderTest as test } from '../harness/order-test.ts';
import type { OrderWorld } from '../harness/order-world.ts';
import type { Fate, ProxiedRequest } from '../harness/proxy.ts';
import { line, order } from '../harness/shop-orders.ts';

/** The optional fields with a value in SQL, but for the status of a line: the service may show one of its own. */
const orderFields = {
  user_code: `'member'`,
  user_name: `'Kim'`,
  user_email: `'k@example.com'`,
  user_phone: `'010-0000-0000'`,
  store_name: `'Store 1'`,
  order_device: `'pc'`,
  mileage: '5',
};
const lineFields = {
  invoice: `'I-1'`,
  delivery_service: `'Post'`,
  delivery_started_at: `timestamptz '2026-01-02 03:04:05Z'`,
  delivered_at: `timestamptz '2026-01-03 03:04:05Z'`,
  product_options: `jsonb '{"size": "S"}'`,
};

/** One order for each field, named like it, with all fields filled. */
async function fill(world: OrderWorld): Promise<void> {
  await world.shop(`alter table o add column user_name text, add column store_name text, add column mileage integer;
    alter table l add column delivery_service text, add column delivery_started_at timestamptz,
      add column delivered_at timestamptz`);
  for (const code of [...Object.keys(orderFields), ...Object.keys(lineFields)]) {
    await world.shop(`
      insert into o (code, ${Object.keys(orderFields)}) values ('${code}', ${Object.values(orderFields)});
      insert into l (order_code, line_code, product_id, ${Object.keys(lineFields)})
        values ('${code}', '1', 1, ${Object.values(lineFields)})`);
  }
  await world.sync();
}

/** The field of each order that was emptied, as the service has it; empty texts and empty options count as no value. */
async function shownAtService(world: OrderWorld): Promise<Record<string, unknown>> {
  const fields = [
    ...Object.keys(orderFields).map((field) => `when '${field}' then to_jsonb(o.${field})`),
    ...Object.keys(lineFields).map((field) => `when '${field}' then to_jsonb(s.${field})`),
  ];
  const rows = await world.atService<{ code: string; value: unknown }>(`
    select o.code, case o.code ${fields.join(' ')} end as value
    from reference_service.orders o join reference_service.sub_orders s on s.order_id = o.id`);
  const isEmpty = (value: unknown) => value === null || value === '' || JSON.stringify(value) === '{}';
  return Object.fromEntries(rows.filter((row) => !isEmpty(row.value)).map((row) => [row.code, row.value]));
}

const isWrite = ({ method }: ProxiedRequest) => method === 'POST' || method === 'PUT';
const hasEmpty = ({ form }: ProxiedRequest) => [...form.values()].includes('');

// At a service that clears what it gets empty: each-field.test.ts.
test.for<[string, (request: ProxiedRequest) => Fate]>([
  [
    'ignores empty values',
    (request) =>
      isWrite(request) ? { form: new URLSearchParams([...request.form].filter(([, value]) => value !== '')) } : 'pass',
  ],
  ['refuses empty values', (request) => (isWrite(request) && hasEmpty(request) ? { status: 422 } : 'pass')],
])('what the shop clears is cleared by a service that %s, or a dead letter names it', async ([_, rule], { world }) => {
  await fill(world);
  for (const field of Object.keys(orderFields)) {
    // Whatever the age of the order.
    await world.shop(`update o set ${field} = null, created_at = now() - interval '400 days', updated_at = now()
        where code = '${field}'`);
  }
  await world.rememberDates();
  for (const field of Object.keys(lineFields)) {
    // The price shows that the rest of the line arrives all the same.
    await world.shop(`update l set ${field} = null, price = 77 where order_code = '${field}';
        update o set updated_at = now() where code = '${field}'`);
  }
  world.serviceRule(rule);
  await world.sync();
  const kept = await shownAtService(world);
  const named = (await world.openDeadLetters()).map(({ key, reason }) => [key.replace(/\/1$/, ''), reason]);
  // The service's order shows no store, device and mileage: of these only a refusal can be named.
  const unseen = ['store_name', 'order_device', 'mileage'];
  for (const field of Object.keys(kept).filter((one) => !unseen.includes(one))) {
    expect(named).toContainEqual([field, expect.stringMatching(new RegExp(`${field}|refused by the review service`))]);
  }
  for (const [code] of named) expect(Object.keys(kept)).toContain(code);
  const prices = `select distinct price::integer from reference_service.sub_orders s
      join reference_service.orders o on o.id = s.order_id where o.code = any($1)`;
  expect(await world.atService(prices, [Object.keys(lineFields)])).toEqual([{ price: 77 }]);
  // What the service keeps stays named, whatever else of the order is pushed.
  await world.shop('update o set total_price = 101, updated_at = now()');
  await world.sync();
  expect((await world.openDeadLetters()).map(({ key }) => key.replace(/\/1$/, ''))).toEqual(named.map(([key]) => key));
  // Once the service is corrected, each of them is cleared within a day.
  world.serviceRule(() => 'pass');
  await world.timePasses('1 day');
  await world.sync();
  expect(await world.openDeadLetters()).toEqual([]);
  expect(Object.keys(await shownAtService(world)).filter((one) => !unseen.includes(one))).toEqual([]);
});

test('a kept phone number does not keep an e-mail address from being cleared', async ({ world }) => {
  await world.place(order('A', { user_phone: '010-0000-0000' }, line('1', 1)));
  await world.sync();
  await world.atService(`update reference_service.orders set user_email = 'other@example.com'`);
  await world.shop('update o set user_phone = null, updated_at = now()');
  world.serviceRule(({ form }) => {
    return { form: new URLSearchParams([...form].filter(([name]) => name !== 'user_phone')) };
  });
  await world.sync();
  expect(await world.atService('select user_email, user_phone from reference_service.orders')).toEqual([
    { user_email: null, user_phone: '010-0000-0000' },
  ]);
  expect(await world.openDeadLetters()).toMatchObject([
    { key: 'A', reason: expect.stringMatching(/^the service keeps user_phone although/) },
  ]);
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
  await world.atService(`
    insert into reference_service.products (id) values (1) on conflict do nothing;
    insert into reference_service.orders (code, created_at, updated_at, total_price, user_name, user_email, user_phone)
    values ('A', now(), now(), 100, 'Kim', 'kim@example.com', '010-1');
    insert into reference_service.sub_orders (order_id, product_id, price, status, invoice, delivered_at, product_options,
      created_at, updated_at)
    select id, 1, 10, 'paid', 'I-1', '2026-01-02', '{"size": "S"}', now(), now() from reference_service.orders`);
  const before = await shown();
  for (const price of [10, 12]) {
    await world.shop(`update l set price = ${price}; update o set updated_at = now()`);
    await world.sync();
  }
  expect(await shown()).toEqual(before);
  await select(', null as user_name, user_email, user_phone', ', invoice, null::jsonb as product_options');
  await world.shop('update o set total_price = 7, updated_at = now()');
  await world.sync();
  expect(await shown()).toMatchObject([
    { user_name: null, user_email: null, user_phone: null, invoice: null, product_options: {} },
  ]);
});
