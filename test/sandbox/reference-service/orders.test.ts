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

test('an amount that no answer could tell is refused, also by an update', async () => {
  const { call } = await runService();
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  const subOrders = `/v1/orders/${id}/sub_orders`;
  const subOrder = (await call('POST', subOrders, { json: { product_id: 1, price: 5 } })).body;
  for (const amount of ['1e300', '1e17', '-1e17', 'Infinity', '9'.repeat(500), 'NaN', '']) {
    const form = new URLSearchParams({ total_price: amount }).toString();
    expect((await call('PATCH', `/v1/orders/${id}`, { form })).status).toBe(422);
    if (amount === '') continue;
    expect((await call('PUT', `${subOrders}/${subOrder.id}`, { query: { price: amount } })).status).toBe(422);
  }
  const json = { total_price: true };
  expect((await call('PATCH', `/v1/orders/${id}`, { json })).body.error).toMatch(/^total_price: found true, expected/);
  const most = { total_price: '90071992547409' };
  expect((await call('PATCH', `/v1/orders/${id}`, { json: most })).status).toBe(204);
  expect((await call('GET', `/v1/orders/${id}`)).body.total_price.cents).toBe(9_007_199_254_740_900);
});

test('times of a sub-order count to the second, and are cleared by an empty one', async () => {
  const { call } = await runService();
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  const path = `/v1/orders/${id}/sub_orders`;
  const json = { product_id: 1, delivery_started_at: '2024-01-05T01:00:00.789Z', delivered_at: '2024-01-06' };
  const { body } = await call('POST', path, { json });
  expect(body.delivery_started_at).toBe('2024-01-05T10:00:00.000+09:00');
  expect((await call('PUT', `${path}/${body.id}`, { query: { delivered_at: '' } })).status).toBe(204);
  const [after] = (await call('GET', `/v1/orders/${id}`)).body.sub_orders;
  expect([after.delivery_started_at, after.delivered_at]).toEqual([body.delivery_started_at, null]);
});

test('a service that tells whole units says 23500 for 23,500 won', async () => {
  const { call } = await runService({ moneyUnit: 'whole' });
  expect((await call('POST', '/v1/orders', { json: anOrder })).body.total_price.cents).toBe(23_500);
});

test('every breach is named at once, with what was found and what was expected', async () => {
  const { call } = await runService();
  const json = { created_at: '2024-02-30', total_price: 'much', order_device: 'watch', mileage: 1.5, user_code: ['a'] };
  const { status, body } = await call('POST', '/v1/orders', { json });
  expect(status).toBe(422);
  for (const words of [
    'code: found nothing',
    'created_at: found "2024-02-30", expected an ISO 8601 date-time',
    'total_price: found "much", expected a number',
    'order_device: found "watch", expected pc or mobile',
    'mileage: found 1.5, expected an integer',
    'user_code: found ["a"], expected a text',
  ]) {
    expect(body.errors.join('\n')).toContain(words);
  }
  expect(body.errors).toHaveLength(6);
  expect(typeof body.error).toBe('string');
});

test('an order that gets another code keeps its reviews, and takes them along when it is deleted', async () => {
  const { call } = await runService({}, (databaseUrl) => {
    const at = { message: '', created_at: new Date(), updated_at: new Date('2024-01-06T00:00:00Z') };
    return seedReviews(databaseUrl, [{ ...at, code: 'R-1', product_code: 'P-1', order_code: 'A-1' }]);
  });
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  await call('POST', `/v1/orders/${id}/sub_orders`, { json: { product_code: 'P-1' } });
  await call('PATCH', `/v1/orders/${id}`, { json: { code: 'A-2' } });
  expect((await call('GET', `/v1/orders/${id}`)).body.sub_orders[0].reviews_count).toBe(1);
  const changed = await call('GET', '/v1/reviews', { query: { date_updated_at: 1 } });
  expect(changed.body.map((review: { order_code: string }) => review.order_code)).toEqual(['A-2']);
  await call('DELETE', `/v1/orders/${id}`);
  expect((await call('GET', '/v1/reviews', { query: { code: 'R-1' } })).status).toBe(404);
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
