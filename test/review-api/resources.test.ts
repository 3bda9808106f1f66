import { expect, test } from 'vitest';
import { MalformedResponseError, UnknownOutcomeError } from '../../src/review-api/index.ts';
import { client, january, json, order, tinyService } from './tiny-service.ts';

const subOrder = { id: 11, product_id: 3, product_options: { Size: 'L' }, price: { cents: 1250, currency_iso: 'USD' } };

test('an empty code is refused before anything is sent', async () => {
  const service = await tinyService(() => json([]));
  const { orders, categories, reviews } = client(service.url);
  const body = { code: '', created_at: '2024-01-01T00:00:00Z', total_price: '1' };
  for (const call of [
    ...[() => orders.getByCode(''), () => orders.removeByCode(' '), () => orders.upsert(body)],
    ...[() => orders.updateByCode('', {}), () => categories.removeByCode(''), () => reviews.removeByCode('')],
    ...[() => reviews.getByCode(''), () => reviews.list({ ...january, product_code: '' })],
  ]) {
    await expect(call()).rejects.toThrow(TypeError);
  }
  expect(service.seen).toEqual([]);
});

test('an order comes with its sub-orders; ids as text become numbers, unknown fields pass, and what is lacking stays absent', async () => {
  const sent = order(4, { id: '4', store: 'x', sub_orders: [{ ...subOrder, id: '11', product_options: [] }] });
  const service = await tinyService(() => json(sent));
  const found = await client(service.url).orders.get(4);
  expect(found).toMatchObject({ id: 4, store: 'x', sub_orders: [{ id: 11, product_options: {} }] });
  expect(found).not.toHaveProperty('user_code');
  expect(found.sub_orders[0]).toMatchObject({ price: { cents: 1250, currency_iso: 'USD' }, reviews_count: null });
});

test.each([
  {},
  { id: 1, code: 'A' },
  { id: 'x', code: 'A', sub_orders: [] },
  order(1, { sub_orders: [{ id: null }] }),
  [],
])('an order that is not one (%o) is a MalformedResponseError', async (body) => {
  const service = await tinyService(() => json(body));
  await expect(client(service.url).orders.get(1)).rejects.toThrow(MalformedResponseError);
});

test('each operation keeps to the limits of its call', async () => {
  const service = await tinyService(() => ({ status: 503 }));
  const api = client(service.url);
  const [patch, body] = [[1, {}], [{ code: 'A', name: 'A' }]];
  const args: Record<string, unknown[]> = {
    ...{
      get: [1],
      getByCode: ['A'],
      update: patch,
      updateByCode: ['A', {}],
      put: patch,
      remove: [1],
      removeByCode: ['A'],
    },
    ...{ upsert: body, create: body, page: [january, 1], getRaw: [1], overview: [] },
    ...{ 'subOrders.create': [1, { product_id: 1 }], 'subOrders.update': [1, 2, {}], 'subOrders.remove': [1, 2] },
  };
  const begun: string[] = [];
  const called: string[] = [];
  for (const resource of ['orders', 'categories', 'reviews', 'userGrades', 'subOrders'] as const) {
    for (const [name, operation] of Object.entries<(...args: unknown[]) => Promise<unknown>>(api[resource] as never)) {
      const all = args[`${resource}.${name}`] ?? args[name];
      // These take no options.
      if (['list', 'listAll'].includes(name)) continue;
      called.push(`${resource}.${name}`);
      const beforeSend = () => void begun.push(`${resource}.${name}`);
      await expect(operation(...(all ?? []), { giveUpAfterMs: -1, beforeSend })).rejects.toThrow('status 503');
    }
  }
  expect(service.calls()).toHaveLength(called.length);
  expect(begun.sort()).toEqual(called.sort());
});

test('an overview that is an error in the clothes of a 200 is not a service without reviews', async () => {
  const service = await tinyService(() => json({ error: 'try again later' }));
  await expect(client(service.url).reviews.overview()).rejects.toThrow(/as first_review_created_at, got nothing/);
});

test('amounts go as the text they are, options as repeated pairs, nothing that is undefined', async () => {
  const service = await tinyService(() => ({ status: 201, body: { id: 7 } }));
  const api = client(service.url);
  const options = { Size: 'L & XL', 색상: '파랑+1\ud800' };
  await api.subOrders.create(5, { product_id: 3, price: '0.10', invoice: undefined, product_options: options });
  const params = service.calls()[0]?.params;
  expect(params?.getAll('product_options[]')).toEqual(['Size:L & XL', '색상:파랑+1\ufffd']);
  expect(params?.get('price')).toBe('0.10');
  expect(params?.has('invoice')).toBe(false);
  await api.reviews.update(5, { message: 'Good.' });
  expect([...(service.calls()[1]?.params.keys() ?? [])]).toEqual(['message', 'access_token']);
  await expect(api.subOrders.create(5, { product_id: 3, price: '1,50' })).rejects.toThrow(TypeError);
  await expect(api.orders.update(5, { user_grade_id: 0 })).rejects.toThrow(TypeError);
});

test('an order by code is found where the service answers with a list, and not guessed where the list lacks it', async () => {
  const service = await tinyService(({ path, params }) =>
    path === '/v1/orders'
      ? json(params.get('code') === 'A-2' ? [order(1), order(2)] : [order(1)])
      : json(order(2, { code: ' a-2' })),
  );
  const api = client(service.url);
  expect((await api.orders.getByCode('A-2')).id).toBe(2);
  // Services trim codes and ignore their case.
  expect((await api.categories.getByCode('A-2 ')).id).toBe(2);
  await expect(api.orders.getByCode('A-3')).rejects.toThrow(MalformedResponseError);
});

test('a deletion is done with 200, 201, 204 and 404, and with another success nobody knows', async () => {
  for (const status of [200, 201, 204, 404]) {
    const service = await tinyService(() => ({ status, body: 'gone' }));
    await client(service.url).subOrders.remove(1, 2);
    expect(service.calls()).toHaveLength(1);
  }
  for (const status of [202, 203, 205]) {
    const service = await tinyService(() => ({ status }));
    const { subOrders, reviews } = client(service.url);
    for (const write of [subOrders.remove(1, 2), subOrders.update(1, 2, { invoice: 'I' }), reviews.remove(3)]) {
      const error = await write.catch((reason) => reason);
      expect(error).toBeInstanceOf(UnknownOutcomeError);
      expect(error.message).toContain(`expected status 200, 201 or 204, got ${status}`);
    }
    expect(service.calls()).toHaveLength(3);
  }
});

test('a page of reviews keeps the body as it came and asks as the spec says', async () => {
  const rawBody = '[{"id":1,"message":"좋아요","score":5.0}]';
  const link = [
    '<https://s.example/v1/reviews?page=2>; rel="next"',
    '<https://s.example/v1/reviews?page=31>; rel="last"',
  ];
  const service = await tinyService(() => json(rawBody, { link }));
  const found = await client(service.url).reviews.page(
    { ...january, date_updated_at: true, date_order_desc: true, score: 0, photo: true },
    2,
  );
  expect(found).toMatchObject({ rawBody: Buffer.from(rawBody), lastPage: 31, items: [{ id: 1 }] });
  expect(found.requestedAt).toBeInstanceOf(Date);
  const { access_token: _, ...params } = Object.fromEntries(service.calls()[0]?.params ?? []);
  expect(params).toEqual({
    ...january,
    date_updated_at: '1',
    date_order_desc: '1',
    limit: '100',
    page: '2',
    score: '0',
    photo: '1',
  });
});

test('the overview tells the bounds and the clock of the service', async () => {
  const bounds = { first_review_created_at: '2013-01-01T00:00:00.000+09:00', last_review_created_at: null };
  const service = await tinyService(() => json(bounds, { date: 'Wed, 01 May 2024 00:00:30 GMT' }));
  expect(await client(service.url).reviews.overview()).toEqual({
    ...bounds,
    serviceNow: new Date('2024-05-01T00:00:30Z'),
    requestedAt: expect.any(Date),
  });
});

test('additional information of a review goes with the field that all items have first', async () => {
  const service = await tinyService(() => ({ status: 201, body: { id: 1 } }));
  const option = { code: 'c', created_at: '2024-01-01T00:00:00Z', value: 'M', review_option_type_id: 2 };
  await client(service.url).reviews.upsert({
    code: 'r',
    display: false,
    options: [option],
    image_urls: ['https://i/1'],
  });
  const sent = [...(service.calls()[0]?.params ?? [])].map(([name, value]) => `${name}=${value}`);
  expect(sent).toEqual(expect.arrayContaining(['display=0', 'image_urls[]=https://i/1', 'options[][code]=c']));
  expect(sent.find((pair) => pair.startsWith('options'))).toBe('options[][review_option_type_id]=2');
});

test('a list that gives the same page again ends in an error, not in a loop and not as complete', async () => {
  const service = await tinyService(() => json([{ id: 1, code: 'c' }]));
  const read = async () => {
    for await (const _page of client(service.url).categories.listAll({ limit: 1 }));
  };
  await expect(read()).rejects.toThrow(/page 2 repeats the page before it/);
});
