import { expect, test } from 'vitest';
import { readCategory, readOrder, readOrderLine } from '../../src/shop/rows.ts';

const order = {
  code: 'A',
  created_at: '2024-01-01T00:00:00Z',
  updated_at: '2024-01-01T00:00:00Z',
  total_price: '1',
};
const line = { order_code: 'A', line_code: '1', price: '1', product_id: '7' };

test.each([
  ['total_price', '90000000000000', '90000000000001'],
  ['total_price', '-90000000000000', '-90000000000001'],
  ['mileage', '2147483647', '2147483648'],
  ['mileage', '-2147483648', '-2147483649'],
  ['product_id', '9007199254740991', '9007199254740992'],
  ['product_id', '1', '0'],
])('%s may be %s and not %s', (column, most, beyond) => {
  const read = (value: string) =>
    column === 'product_id' ? readOrderLine({ ...line, [column]: value }) : readOrder({ ...order, [column]: value });
  expect([read(most), read(beyond)]).toEqual([{ row: expect.anything() }, { fault: expect.stringContaining(column) }]);
});

test.each([
  ...['created_at', 'updated_at', 'total_price', 'order_device', 'mileage', 'deleted_at'].map(
    (column) => [column, (value: string) => readOrder({ ...order, [column]: value })] as const,
  ),
  ...['price', 'product_id', 'delivered_at'].map(
    (column) => [column, (value: string) => readOrderLine({ ...line, [column]: value })] as const,
  ),
  ['product_options', (value: string) => readOrderLine({ ...line, product_options: JSON.stringify(value) })] as const,
  ['status', (value: string) => readCategory({ code: 'C', name: 'C', status: value })] as const,
])('a wrong value of the column %s is named by its column, not shown', (column, read) => {
  const fault = (value: string) => JSON.stringify(read(value));
  expect(fault('"minji@shop.example"')).toContain(column);
  for (const value of ['"minji@shop.example"', 'Minji Kim of Seoul, Gangnam-gu', '"Minji"']) {
    expect(fault(value)).not.toMatch(/minji|seoul/i);
  }
});
