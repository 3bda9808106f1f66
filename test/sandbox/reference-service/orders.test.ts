import { expect, test } from 'vitest';
import { seedReviews } from '../../../src/sandbox/reference-service/seed.ts';
import { query } from '../../harness/database.ts';
import { anOrder, linksOf, runService } from './service.ts';

test('an order is created with 201, the collection as Location, and its detail under the output names', async () => {
  const { call } = await runService({ now: () => new Date('2024-01-06T00:00:00.123Z') });
  const { status, headers, body } = await call('POST', '/v1/orders', { json: anOrder });
  expect([status, headers.get('location')]).toEqual([201, '/v1/orders']);
  expect(body).toEqual({
    id: body.id,
    code: 'A-1',
    user_code: 'kim',
    user_email: 'kim@example.com',
    username: 'Kim',
    phone: '010-0000-0000',
    total_price: { cents: 2_350_000, currency_iso: 'KRW' },
    sub_orders: [],
    created_at: '2024-01-05T09:00:00.000+09:00',
    updated_at: '2024-01-06T09:00:00.123+09:00',
  });
});

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

test('the same code again updates the order and keeps what was not sent', async () => {
  const { call } = await runService();
  const first = await call('POST', '/v1/orders', { json: anOrder });
  const { code, created_at } = anOrder;
  const again = await call('POST', '/v1/orders', {
    form: new URLSearchParams({ code, created_at, total_price: '1' }).toString(),
  });
  expect(again.status).toBe(201);
  expect(again.body).toMatchObject({ id: first.body.id, username: 'Kim', total_price: { cents: 100 } });
});

test('a creation time counts to the second, without offset it is in the service’s zone', async () => {
  const { call } = await runService({ timeZone: 'America/New_York' });
  for (const [sent, kept] of [
    ['2024-07-01T12:00:00.999Z', '2024-07-01T08:00:00.000-04:00'],
    ['2024-01-01 12:00:00', '2024-01-01T12:00:00.000-05:00'],
  ]) {
    const { body } = await call('POST', '/v1/orders', { json: { ...anOrder, created_at: sent } });
    expect(body.created_at).toBe(kept);
  }
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

test('a member grade that does not exist is refused', async () => {
  const { call } = await runService();
  const { status, body } = await call('POST', '/v1/orders', { json: { ...anOrder, user_grade_id: 7 } });
  expect([status, body.error]).toEqual([422, 'user_grade_id: found 7, expected the id of a user grade']);
});

test('PATCH and PUT change an order by id and by code, with fields in body or query, and answer 204', async () => {
  const { call } = await runService();
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  const answers = [
    await call('PATCH', `/v1/orders/${id}`, { json: { user_name: 'Lee' } }),
    await call('PUT', `/v1/orders/${id}`, { query: { user_phone: '1' } }),
    await call('PATCH', '/v1/orders', { json: { code: 'A-1', user_email: '' } }),
  ];
  for (const { status, headers, body } of answers) {
    expect([status, headers.get('location'), body]).toEqual([204, `/v1/orders/${id}`, undefined]);
  }
  const { body } = await call('GET', '/v1/orders', { query: { code: 'A-1' } });
  expect(body).toMatchObject({ username: 'Lee', phone: '1', user_email: null });
});

test('an order’s code can be changed, but not to one that is taken', async () => {
  const { call } = await runService();
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  await call('POST', '/v1/orders', { json: { ...anOrder, code: 'A-2' } });
  const { status, body } = await call('PATCH', `/v1/orders/${id}`, { json: { code: 'A-2' } });
  expect([status, body.error]).toEqual([422, 'code: found "A-2", expected one that is not taken']);
  expect((await call('PATCH', `/v1/orders/${id}`, { json: { code: 'A-3' } })).status).toBe(204);
  expect((await call('GET', `/v1/orders/${id}`)).body.code).toBe('A-3');
});

test('an empty code is 422 and touches nothing; an unknown one is 404', async () => {
  const { call } = await runService();
  await call('POST', '/v1/orders', { json: anOrder });
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    expect((await call(method, '/v1/orders', { query: { code: '' } })).status).toBe(422);
    expect((await call(method, '/v1/orders', { query: { code: 'other' } })).status).toBe(404);
    expect((await call(method, '/v1/orders/999')).status).toBe(404);
  }
  expect((await call('DELETE', '/v1/orders')).status).toBe(422);
  expect((await call('GET', '/v1/orders')).body).toHaveLength(1);
});

test('a sub-order is made anew on every POST, and its product when it is first named', async () => {
  const { call } = await runService();
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  const json = { product_id: 12, price: 9.99, status: 'paid', product_options: ['Size:L', 'Note:a:b'] };
  const [one, two] = [
    await call('POST', `/v1/orders/${id}/sub_orders`, { json }),
    await call('POST', `/v1/orders/${id}/sub_orders`, { json }),
  ];
  expect(one?.status).toBe(201);
  expect(one?.body).toMatchObject({
    product_id: 12,
    product_options: { Size: 'L', Note: 'a:b' },
    price: { cents: 999, currency_iso: 'KRW' },
    delivered_at: null,
    delivery_service: '',
    reviews_count: 0,
  });
  expect(two?.body.id).not.toBe(one?.body.id);
  expect((await call('GET', `/v1/orders/${id}`)).body.sub_orders).toEqual([one?.body, two?.body]);
});

test('a sub-order is changed by PUT with query fields and removed by DELETE, only under its own order', async () => {
  const { call } = await runService();
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  const other = (await call('POST', '/v1/orders', { json: { ...anOrder, code: 'A-2' } })).body;
  const form = 'product_id=1&price=5&product_options[]=Size%3AL&product_options[]=Colour%3Ared';
  const made = (await call('POST', `/v1/orders/${id}/sub_orders`, { form })).body;
  expect(made.product_options).toEqual({ Size: 'L', Colour: 'red' });
  const path = `/v1/orders/${id}/sub_orders/${made.id}`;
  const put = await call('PUT', path, { query: { invoice: '77', status: 'cancelled', 'product_options[]': 'Size:M' } });
  expect([put.status, put.headers.get('location')]).toEqual([204, path]);
  expect((await call('GET', `/v1/orders/${id}`)).body.sub_orders).toMatchObject([
    { id: made.id, invoice: '77', status: 'cancelled', product_options: { Size: 'M' }, price: { cents: 500 } },
  ]);
  expect((await call('DELETE', `/v1/orders/${other.id}/sub_orders/${made.id}`)).status).toBe(404);
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('DELETE', path)).status).toBe(404);
});

test('a sub-order may name its product by the shop’s code; a known id and code are paired', async () => {
  const { call } = await runService();
  const { id } = (await call('POST', '/v1/orders', { json: anOrder })).body;
  const add = (json: object) => call('POST', `/v1/orders/${id}/sub_orders`, { json });
  expect((await add({ price: 1 })).status).toBe(422);
  await add({ product_id: 1, product_code: 'P-1' });
  expect((await add({ product_code: 'P-1' })).body.product_id).toBe(1);
  expect((await add({ product_code: 'P-2' })).body.product_id).toBe(2);
  expect((await add({ product_id: 3, product_code: 'P-1' })).body.error).toBe(
    'code: found "P-1", expected one that is not taken',
  );
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

test('the list shows items by payment day in the service’s zone and by account, with product codes', async () => {
  const { call } = await runService();
  const times = { a: '2024-01-05T00:00:00+09:00', b: '2024-01-05T23:59:59+09:00', c: '2024-01-06T00:00:00+09:00' };
  for (const [code, created_at] of Object.entries(times)) {
    const { body } = await call('POST', '/v1/orders', {
      json: { ...anOrder, code, created_at, user_code: `su-${code}` },
    });
    await call('POST', `/v1/orders/${body.id}/sub_orders`, { json: { product_id: 4, product_code: 'P-4' } });
  }
  const codes = async (query: Record<string, string>) =>
    (await call('GET', '/v1/orders', { query })).body.map((order: { code: string }) => order.code);
  expect(await codes({ paid_on: '2024-01-05' })).toEqual(['a', 'b']);
  expect(await codes({ usernames: 'su-a,su-c' })).toEqual(['a', 'c']);
  const [item] = (await call('GET', '/v1/orders')).body;
  expect(Object.keys(item).sort()).toEqual(
    ['code', 'id', 'paid_at', 'sub_orders', 'total_price', 'updated_at', 'user_code', 'user_email', 'username'].sort(),
  );
  expect(item.sub_orders).toEqual([{ id: expect.any(Number), product_id: 4, product_code: 'P-4', status: 'paid' }]);
});

test('Link names the last page and, while there is one, the next, without the token', async () => {
  const { call } = await runService();
  for (const code of ['a', 'b', 'c']) await call('POST', '/v1/orders', { json: { ...anOrder, code } });
  const first = await call('GET', '/v1/orders', { query: { limit: 2, usernames: 'kim' } });
  const { last = '', next = '' } = linksOf(first);
  expect(new URL(last).search).toBe('?limit=2&usernames=kim&page=2');
  expect(next).toBe(last);
  expect(first.headers.get('link')).not.toContain('access_token');
  const second = await call('GET', '/v1/orders', { query: { limit: 2, page: 2 } });
  expect([second.body.length, Object.keys(linksOf(second))]).toEqual([1, ['last']]);
  for (const query of [{ limit: 101 }, { limit: 0 }, { page: 0 }, { page: 'x' }, { paid_on: '2024-1-5' }]) {
    expect((await call('GET', '/v1/orders', { query: query as Record<string, string> })).status).toBe(422);
  }
});
