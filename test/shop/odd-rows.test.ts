import { expect, test } from 'vitest';
import { readCategory, readOrder, readOrderLine } from '../../src/shop/rows.ts';
import { valuesOf } from '../harness/database.ts';
import { createOrderShop, orderShopQueries } from '../harness/order-world.ts';
import { worldTest } from '../harness/world.ts';

worldTest(
  'a value that cannot be cast or held costs its own order or line until it is corrected',
  async ({ openWorld }) => {
    const SHOP_SQL_DIR = await orderShopQueries({
      orders: 'select code, created_at, updated_at, total_price, odd::integer as mileage from o',
      order_lines: 'select order_code, line_code, product_id, odd::numeric + 10 as price from l',
    });
    const world = await openWorld({ environment: { SHOP_SQL_DIR } });
    await createOrderShop(world.shopUrl);
    await world.shop(`alter table o add column odd text; alter table l add column odd text;
    insert into o (code, odd) values ('A', '7'), ('B', 'secret@example.com'), ('C', '7'), ('D', '7'), ('E', '7');
    insert into l (order_code, line_code, product_id, odd)
      select code, line::text, 7, '1' from o cross join generate_series(1, 2) line;
    update l set odd = 'ten' where order_code = 'C';
    update o set created_at = '0044-03-15 BC' where code = 'D';
    update l set odd = 'NaN' where order_code = 'E' and line_code = '1'`);
    const open = `select concat(kind, ' ', key, ': ', reason) from sync.dead_letters where resolved_at is null order by key`;
    const deadLetters = async () => valuesOf(await world.warehouse(open));
    const cast =
      'a row cannot be read: a text cannot be read as the type that it is cast to (SQLSTATE 22P02) → Correct the row, or let the query give null or false for it.';
    const letters = [
      `order B: orders.sql: ${cast}`,
      `order C: order_lines.sql: ${cast}`,
      expect.stringMatching(/^order D: .*created_at is out of range \(year -44\), expected a date/),
      expect.stringMatching(/^order_line E\/1: .*price is NaN, expected an amount/),
    ];
    /** The codes of the orders of all sub-orders at the service. */
    const linesAtService = async () =>
      valuesOf(
        await world.atService(`select o.code from reference_service.sub_orders s
        join reference_service.orders o on o.id = s.order_id order by o.code`),
      );
    // The second time nothing has changed.
    for (const run of [1, 2]) {
      const error = expect.stringMatching(/^4 records could/);
      expect([run, await world.run('sync-orders')]).toMatchObject([run, { outcome: 'incomplete', error }]);
      expect(await deadLetters()).toEqual(letters);
      expect(await linesAtService()).toEqual(['A', 'A', 'E']);
    }
    const kept = await world.warehouse(`select payload from sync.dead_letters where key = 'B'`);
    expect(kept).toMatchObject([{ payload: { code: 'B' } }]);
    await world.shop(`update l set odd = '1'; update o set created_at = now() where code = 'D'`);
    const { stdout } = await world.says(
      'doctor',
      /warning {2}orders\.sql: 1 of 5 rows would not be synced, such as: orders\.sql: a row cannot be read/,
      /ms to find the lines of 5 orders/,
    );
    expect(stdout).not.toContain('could not be run');
    await world.shop(`update o set odd = '12' where code = 'B'`);
    expect(await world.run('sync-orders')).toMatchObject({ outcome: 'done' });
    expect([await deadLetters(), await linesAtService()]).toEqual([[], [...'AABBCCDDEE']]);
  },
);

const order = { code: 'A', created_at: '2024-01-01T00:00:00Z', total_price: '1' };
const line = { order_code: 'A', line_code: '1', price: '1', product_id: '7' };
const ofLine = [...Object.keys(line), 'product_options', 'product_code', 'delivered_at'];
/** A row that is right but for this value. */
const readWith = (column: string, value: string) =>
  ofLine.includes(column) ? readOrderLine({ ...line, [column]: value }) : readOrder({ ...order, [column]: value });
const unstorable = 'product_options holds a character that cannot be stored';

test.each([
  ['product_options', '{"Size": "\\u0000"}', unstorable],
  ['product_options', '{"Size": "\\ud800"}', unstorable],
  ['product_options', '{"\\ud800": "L"}', unstorable],
  ['product_options', '{"Size": ["L"]}', 'product_options has a value that is an array, expected an object'],
  ['product_options', '{"Size": {"a": "b"}}', 'product_options has a value that is an object, expected'],
  ['product_options', '3', 'product_options is 3, expected an object'],
  ['product_options', '["L"]', 'product_options is an array, expected an object'],
  ['product_id', '-3', 'product_id is -3, expected a whole number from 1 to'],
  ['product_code', 'x'.repeat(1001), 'product_code has 1001 bytes, expected at most 1000'],
  ['price', '-Infinity', 'price is -Infinity, expected an amount'],
  ['total_price', '1000000000000000', 'total_price is a number of 16 digits, expected an amount of at most'],
  ['mileage', '3000000000', 'mileage is a number of 10 digits, expected a whole number from -2147483648 to 2147483647'],
  ['user_name', `a\u0000`, 'user_name holds a character that cannot be stored'],
])('the fault of a column %s with the value %s says what was expected', (column, value, fault) => {
  expect(readWith(column, value)).toEqual({ fault: expect.stringContaining(fault) });
});

test.each([
  ['total_price', '90000000000000', '90000000000001'],
  ['total_price', '-90000000000000', '-90000000000001'],
  ['mileage', '2147483647', '2147483648'],
  ['mileage', '-2147483648', '-2147483649'],
  ['product_id', '9007199254740991', '9007199254740992'],
  ['product_id', '1', '0'],
])('%s may be %s and not %s', (column, most, beyond) => {
  expect(readWith(column, most)).toEqual({ row: expect.anything() });
  expect(readWith(column, beyond)).toEqual({ fault: expect.stringContaining(column) });
});

test.each([
  ...['created_at', 'updated_at', 'total_price', 'order_device', 'mileage', 'deleted_at', 'price', 'product_id'],
  ...['delivered_at', 'product_options', 'status'],
])('a wrong value of the column %s is named by its column, not shown', (column) => {
  const fault = (value: string) =>
    JSON.stringify(
      column === 'status' ? readCategory({ code: 'C', name: 'C', status: value }) : readWith(column, value),
    );
  expect(fault('"minji@shop.example"')).toContain(column);
  for (const value of ['"minji@shop.example"', 'Minji Kim of Seoul, Gangnam-gu', '"Minji"']) {
    expect(fault(value)).not.toMatch(/minji|seoul/i);
  }
});
