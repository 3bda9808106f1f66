import { expect, test } from 'vitest';
import { desiredOrder } from '../../src/orders/plan/desired-order.ts';
import { sentAmount } from '../../src/review-api/index.ts';
import { client, json, tinyService } from '../review-api/tiny-service.ts';

test.each([
  ['12.3400000000000000', '12.34'],
  ['13900.0000000000000000', '13900.00'],
  ['12.34500', '12.345'],
  ['-0.10000', '-0.10'],
  // As columns of whole units or of two decimals write them: what is sent of these never changes.
  ['13900', '13900'],
  ['12.50', '12.50'],
  ['12.5', '12.5'],
])('the amount %s is sent as %s', (given, sent) => {
  expect(sentAmount(given, 'price')).toBe(sent);
  expect(Number(sent)).toBe(Number(given));
});

test('orders and sub-orders are sent without the zeros that a division leaves', async () => {
  const service = await tinyService(() => json({ id: 7 }));
  const api = client(service.url);
  await api.subOrders.create(5, { product_id: 3, price: '4.5000000000000000' });
  await api.subOrders.update(5, 7, { price: '4.6000000000000000' });
  const body = { code: 'A', created_at: '2024-01-01T00:00:00Z', total_price: '12.3400000000000000' };
  await api.orders.upsert(body).catch(() => {});
  const amounts = service.calls().flatMap(({ params }) => params.get('price') ?? params.get('total_price') ?? []);
  expect(amounts.slice(0, 3)).toEqual(['4.50', '4.60', '12.34']);
});

test('the fingerprint of an order stays as it was in earlier versions', () => {
  const order = { code: 'A', created_at: '2024-01-01T00:00:00.000000Z', total_price: '12.3400000000000000' };
  const line = { order_code: 'A', line_code: '1', product_id: '7', price: '12.3400000000000000' };
  const read = desiredOrder({ order, lines: [line] }, new Map(), new Map(), 'off');
  expect(read).toMatchObject({ fingerprint: 'NaWqD8Qn7YfaIvnVfc6cJUL7DGhmtnSjIQ5PgTl_6tY' });
});
