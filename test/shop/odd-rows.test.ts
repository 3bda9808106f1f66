import { expect } from 'vitest';
import { createOrderShop, orderShopQueries } from '../harness/order-world.ts';
import { type OpenWorld, worldTest as test, type World } from '../harness/world.ts';

/**
 * One bad row costs one row (promise 4): all others are pushed in the same run, and the bad one is named by its key.
 */

/** A shop of twenty orders with two lines each, read by queries of the test's own. */
async function oddShop(open: OpenWorld, queries: { orders: string; order_lines: string }): Promise<World> {
  const world = await open({ shop: 'empty', environment: { SHOP_SQL_DIR: await orderShopQueries(queries) } });
  await createOrderShop(world.shopUrl);
  await world.shop(`alter table o add column odd text; alter table l add column odd text;
    insert into o (code) select 'O' || lpad(n::text, 2, '0') from generate_series(1, 20) n;
    insert into l (order_code, line_code, product_id)
      select code, line::text, 7 from o cross join generate_series(1, 2) line`);
  return world;
}

const syncOrders = (world: World) => world.cli('sync', 'orders', '--json');
const deadLetters = (world: World) =>
  world.warehouse<{ kind: string; key: string; reason: string }>(
    'select kind, key, reason from sync.dead_letters where resolved_at is null order by kind, key',
  );
const atService = async (world: World) =>
  (
    await world.atService<{ code: string; lines: number }>(
      `select o.code, count(s.id)::integer as lines from reference_service.orders o
       left join reference_service.sub_orders s on s.order_id = o.id group by o.code order by o.code`,
    )
  ).map(({ code, lines }) => `${code}:${lines}`);
const every = Array.from({ length: 20 }, (_, index) => `O${String(index + 1).padStart(2, '0')}:2`);
const butFor = (...codes: string[]) => every.filter((one) => !codes.includes(one.split(':')[0] ?? ''));

test('values that cannot be cast cost their own order until they are corrected', async ({ openWorld }) => {
  const world = await oddShop(openWorld, {
    orders: 'select code, created_at, updated_at, total_price, odd::integer as mileage from o',
    order_lines: 'select order_code, line_code, product_id, odd::numeric + 10 as price from l',
  });
  await world.shop(`update o set odd = case code when 'O07' then 'secret@example.com' else '7' end;
    update l set odd = case order_code when 'O08' then 'ten' else '1' end`);
  const letters = [
    {
      ...{ kind: 'order', key: 'O07' },
      reason:
        'orders.sql: mileage cannot be read: a text cannot be read as the type that it is cast to (SQLSTATE 22P02)',
    },
    {
      ...{ kind: 'order', key: 'O08' },
      reason: expect.stringMatching(/^order_lines\.sql: price cannot be read: .*SQLSTATE 22P02/),
    },
  ];
  // The second time nothing has changed.
  for (const run of [1, 2]) {
    const { status, stdout } = await syncOrders(world);
    expect([run, status]).toEqual([run, 1]);
    const error = expect.stringMatching(/^2 records could/);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'incomplete', error });
    expect(await deadLetters(world)).toEqual(letters);
    expect(await atService(world)).toEqual(butFor('O07', 'O08'));
  }
  const kept = await world.warehouse(`select payload from sync.dead_letters where key = 'O07'`);
  expect(kept).toMatchObject([{ payload: { code: 'O07', total_price: '100' } }]);
  await world.shop(`update l set odd = '1' where order_code = 'O08'`);
  const doctor = await world.cli('doctor');
  expect(doctor.status).toBe(1);
  for (const part of ['orders.sql: mileage cannot be read', 'ms to find the lines of 20 orders'])
    expect(doctor.stdout).toContain(part);
  expect(doctor.stdout).not.toContain('could not be run');
  await world.shop(`update o set odd = '12' where code = 'O07'`);
  expect(await syncOrders(world)).toMatchObject({ status: 0 });
  expect(await deadLetters(world)).toEqual([]);
  expect(await atService(world)).toEqual(every);
});

test('every value that nothing can hold costs its own order or line, all in one run', async ({ openWorld }) => {
  const world = await oddShop(openWorld, {
    orders: 'select code, created_at, updated_at, total_price, mileage, user_name from o',
    order_lines: 'select order_code, line_code, product_id, product_code, price, product_options from l',
  });
  await world.shop(`alter table o add column mileage bigint, add column user_name text;
    alter table l alter product_options type json using product_options::text::json`);
  const kind = 'a value that is';
  const odd: [line: string, column: string, value: string, reason: string][] = [
    ['O01/1', 'product_options', `'{"Size": "\\u0000"}'`, 'product_options holds a character that cannot be stored'],
    ['O02/1', 'product_options', `'{"Size": "\\ud800"}'`, 'product_options holds a character that cannot be stored'],
    ['O03/1', 'product_options', `'{"Size": ["L"]}'`, `product_options has ${kind} a list, expected an object`],
    ['O04/1', 'product_options', `'{"Size": {"a": "b"}}'`, `product_options has ${kind} an object, expected`],
    ['O05/1', 'product_options', `'3'`, 'product_options is a number, expected an object'],
    ['O06/1', 'product_options', `'["L"]'`, 'product_options is a list, expected an object'],
    ['O07/1', 'product_id', '0', 'product_id is 0, expected a whole number from 1 to'],
    ['O08/1', 'product_id', '-3', 'product_id is -3, expected'],
    ['O09/1', 'price', '1e15', 'price is a number of 16 digits, expected an amount of at most'],
    ['O10/1', 'price', `'NaN'`, 'price is NaN, expected an amount'],
    ['O11/1', 'price', `'-Infinity'`, 'price is -Infinity, expected an amount'],
    ['O12', 'total_price', '1e15', 'total_price is a number of 16 digits, expected an amount of at most'],
    ['O13', 'total_price', `'NaN'`, 'total_price is NaN, expected an amount'],
    [
      'O14',
      'mileage',
      '3000000000',
      'mileage is a number of 10 digits, expected a whole number from -2147483648 to 2147483647',
    ],
    [
      'O15',
      'created_at',
      `'0044-03-15 BC'`,
      'created_at is out of range (year -44), expected a date from 0001-01-03 to 9999-12-28',
    ],
    ['O17/1', 'product_options', `'{"\\ud800": "L"}'`, 'product_options holds a character that cannot be stored'],
    ['O18/1', 'product_code', `repeat('x', 1001)`, 'product_code has 1001 bytes, expected at most 1000'],
  ];
  for (const [key, column, value] of odd) {
    const [code, line] = key.split('/');
    const which = line === undefined ? `o set ${column} = ${value}` : `l set ${column} = ${value}`;
    const where = line === undefined ? `code = '${code}'` : `order_code = '${code}' and line_code = '${line}'`;
    await world.shop(`update ${which} where ${where}`);
  }
  // What is merely unusual goes through: a control character in a name.
  await world.shop(`update o set user_name = chr(1) || repeat('x', 9) where code = 'O20'`);
  expect((await syncOrders(world)).status).toBe(1);
  const found = await deadLetters(world);
  expect(found.map(({ key }) => key).toSorted()).toEqual(odd.map(([key]) => key));
  for (const [key, , , reason] of odd) {
    expect(found.find((one) => one.key === key)?.reason).toContain(reason);
  }
  const without = new Set(odd.flatMap(([key]) => (key.includes('/') ? [] : key)));
  const shorter = new Set(odd.flatMap(([key]) => (key.includes('/') ? (key.split('/')[0] ?? '') : [])));
  const expected = every.flatMap((one) => {
    const [code = ''] = one.split(':');
    return without.has(code) ? [] : shorter.has(code) ? `${code}:1` : one;
  });
  expect(await atService(world)).toEqual(expected);
});
