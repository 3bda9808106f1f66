import { expect, test } from 'vitest';
import { seedReviews } from '../../../src/sandbox/reference-service/seed.ts';
import { query } from '../../harness/database.ts';
import { anOrder, runService } from './service.ts';

test('an amount that no float can hold keeps its cents', async () => {
  const { call } = await runService({ currency: 'BRL' });
  for (const [code, price, cents] of [
    ['A', 0.07, 7],
    ['B', '1.005', 101],
    ['C', 4_503_599_627_370.49, 450_359_962_737_049],
  ]) {
    const { body } = await call('POST', '/v1/orders', { json: { ...anOrder, code, total_price: price } });
    expect(body.total_price).toEqual({ cents, currency_iso: 'BRL' });
  }
});

test('a service that tells whole units says 23500 for 23,500 won', async () => {
  const { call } = await runService({ moneyUnit: 'whole' });
  expect((await call('POST', '/v1/orders', { json: anOrder })).body.total_price.cents).toBe(23_500);
});

test('deleting an order takes its sub-orders and its reviews along, and no others', async () => {
  const at = { message: '', created_at: new Date(), updated_at: new Date() };
  const { call, databaseUrl } = await runService({}, (url) =>
    seedReviews(url, [
      { ...at, product_code: 'P-1', order_code: 'A-1' },
      { ...at, product_code: 'P-1', order_code: 'A-2' },
    ]),
  );
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  for (const reviews of [1, 0]) {
    const made = await call('POST', `/v1/orders/${id}/sub_orders`, { json: { product_code: 'P-1' } });
    expect(made.body.reviews_count).toBe(reviews);
  }
  expect((await call('DELETE', '/v1/orders', { query: { code: 'A-1' } })).status).toBe(204);
  expect(await query(databaseUrl, 'select order_code from reference_service.reviews')).toEqual([{ order_code: 'A-2' }]);
  expect(await query(databaseUrl, 'select from reference_service.sub_orders')).toEqual([]);
});
