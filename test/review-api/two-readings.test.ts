import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type CategoryBody,
  NotFoundError,
  type OrderBody,
  openReviewApi,
  type ReviewApi,
  type ReviewBody,
  type ReviewFilters,
  type SubOrderBody,
} from '../../src/review-api/index.ts';
import { type ReferenceService, startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { openApiDocument } from '../../src/sandbox/reference-service/schemas/openapi.ts';
import { createDatabase } from '../harness/database.ts';
import { type Document, openApiReader } from '../harness/openapi.ts';
import { type Exchange, startWitness } from '../harness/proxy.ts';

// The client's reading of the spec are its types, and what it sends; the service's is the document. Nothing is shared.
const document = JSON.parse(JSON.stringify(openApiDocument())) as Document;
const read = openApiReader(document);

/** With every field that the client's type knows: the compiler asks for a new one here. */
type Full<T> = { [Field in keyof T]-?: Exclude<T[Field], undefined> };

let service: ReferenceService;
let witness: Awaited<ReturnType<typeof startWitness>>;
let api: ReviewApi;

beforeAll(async () => {
  service = await startReferenceService({ databaseUrl: await createDatabase() });
  witness = await startWitness(service.url);
  api = open();
});

afterAll(async () => {
  await api.close();
  await witness.close();
  await service.close();
});

const open = () => openReviewApi({ baseUrl: witness.url, clientId: 'demo', clientSecret: 'demo' });

let made = 0;
const newCode = () => {
  made += 1;
  return `C-${made}`;
};

const at = '2024-01-05T09:00:00+09:00';
const orderFields = { created_at: at, total_price: '23500.50' };
const wholeOrder = {
  ...orderFields,
  user_code: 'kim',
  user_name: 'Kim',
  user_phone: '010-0000-0000',
  user_email: 'k@shop.example',
  user_grade_id: 1,
  store_name: 'Mapo',
  order_device: 'mobile',
  mileage: 30,
} satisfies Omit<Full<OrderBody>, 'code'>;
const wholeLine: Full<SubOrderBody> = {
  product_id: 3,
  price: '12.50',
  delivery_started_at: '2024-01-06T00:00:00+09:00',
  delivered_at: '2024-01-07T00:00:00+09:00',
  status: 'delivery_finished',
  invoice: 'I-1',
  delivery_service: 'Post',
  product_options: { 크기: 'L' },
};
const wholeCategory = { name: 'Shirts', status: 'hidden' } satisfies Partial<CategoryBody>;
/** What an update of a review may send, by its id and by its code. */
const updatedReview = () =>
  ({
    product_id: 7,
    product_code: 'P-7',
    created_at: at,
    score: 5,
    message: '좋아요 & more',
    user_code: 'kim',
    user_name: 'Kim',
    image_urls: ['https://i.example/1.jpg'],
    display: false,
    options: [{ review_option_type_id: 1, created_at: at, value: 'dry', code: newCode() }],
  }) satisfies Partial<ReviewBody>;
const anOrder = (code = newCode()) => api.orders.upsert({ code, ...orderFields });
const aCategory = (code = newCode()) => api.categories.upsert({ code, name: 'Tops' });
const aGrade = () => api.userGrades.create({ name: newCode() });
const aReview = (code = newCode()) => api.reviews.upsert({ code, message: 'Good.', score: 4, product_code: 'P-1' });
const gone = (call: Promise<unknown>) => expect(call).rejects.toThrow(NotFoundError);
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/);

async function idsOf(pages: AsyncIterable<{ items: { id: number }[] }>): Promise<number[]> {
  const ids: number[] = [];
  for await (const { items } of pages) ids.push(...items.map(({ id }) => id));
  return ids;
}

const aSubOrder = async () => {
  const { id: orderId } = await anOrder();
  const { id } = await api.subOrders.create(orderId, { product_id: 3, price: '12.50', invoice: 'I-1' });
  return { orderId, id, read: async () => (await api.orders.get(orderId)).sub_orders };
};

const covered: string[] = [];

/** A test that the operation of the client, named as its methods are, sends the route of the spec and does its work. */
function operation(name: string, route: string, run: () => Promise<void>): void {
  covered.push(name);
  test(`${name} is ${route}`, async () => {
    const before = service.requests()[route] ?? 0;
    await run();
    expect(service.requests()[route] ?? 0).toBeGreaterThan(before);
  });
}

operation('authenticate', 'POST /oauth/token', async () => {
  await using fresh = open();
  await fresh.authenticate();
});

/** What the three resources have in common whose records have a code: how one is made, and every field of an update. */
const coded = { orders: anOrder, categories: aCategory, reviews: aReview };
const patches = {
  orders: async () => ({ ...wholeOrder, user_grade_id: (await aGrade()).id }),
  categories: async () => ({ ...wholeCategory, parent_category_id: String((await aCategory()).id) }),
  reviews: updatedReview,
};
/** What an update changed, as the record shows it. */
const updated = {
  orders: { username: 'Kim', phone: '010-0000-0000', total_price: { cents: 2_350_050, currency_iso: 'KRW' } },
  categories: wholeCategory,
  reviews: { score: 5, display: false, message: '좋아요 & more', user_name: 'Kim' },
};
for (const name of ['orders', 'categories', 'reviews'] as const) {
  const [path, resource] = [`/v1/${name}`, () => api[name]];
  const made = async () => {
    const { id, code } = await coded[name]();
    return { id, code: code ?? '' };
  };

  operation(`${name}.listAll`, `GET ${path}`, async () => {
    const ids = [(await made()).id, (await made()).id];
    expect(await idsOf(resource().listAll({ limit: 1 }))).toEqual(expect.arrayContaining(ids));
  });

  operation(`${name}.get`, `GET ${path}/:id`, async () => {
    const one = await made();
    expect(await resource().get(one.id)).toMatchObject(one);
    await gone(resource().get(999_999));
  });

  operation(`${name}.getByCode`, `GET ${path}`, async () => {
    const one = await made();
    expect(await resource().getByCode(one.code)).toMatchObject(one);
    await gone(resource().getByCode('none'));
  });

  /** Of a review an update cannot change the code. The type: the fields of the three resources differ. */
  const patch = async (code?: string) =>
    ({ ...(await patches[name]()), ...(code && name !== 'reviews' && { code }) }) as never;

  operation(`${name}.update`, `PATCH ${path}/:id`, async () => {
    const { id } = await made();
    await resource().update(id, await patch(newCode()));
    expect(await resource().get(id)).toMatchObject(updated[name]);
  });

  operation(`${name}.updateByCode`, `PATCH ${path}`, async () => {
    const { id, code } = await made();
    await resource().updateByCode(code, await patch());
    expect(await resource().get(id)).toMatchObject({ code, ...updated[name] });
  });

  operation(`${name}.put`, `PUT ${path}/:id`, async () => {
    const { id } = await made();
    await resource().put(id, await patch(newCode()));
    expect(await resource().get(id)).toMatchObject(updated[name]);
  });

  operation(`${name}.remove`, `DELETE ${path}/:id`, async () => {
    const { id } = await made();
    await resource().remove(id);
    await gone(resource().get(id));
    await resource().remove(id);
  });

  operation(`${name}.removeByCode`, `DELETE ${path}`, async () => {
    const { id, code } = await made();
    await resource().removeByCode(code);
    await gone(resource().get(id));
  });
}

operation('orders.list', 'GET /v1/orders', async () => {
  const { id, code } = await api.orders.upsert({
    code: newCode(),
    ...orderFields,
    user_name: 'Kim',
    user_code: 'choi',
  });
  await api.subOrders.create(id, { product_id: 3, price: '1', status: 'paid' });
  const page = await api.orders.list({ paid_on: '2024-01-05', usernames: ['choi', 'lee'], limit: 1, page: 1 });
  expect(page).toEqual({
    items: [
      {
        id,
        code,
        total_price: { cents: 2_350_050, currency_iso: 'KRW' },
        user_code: 'choi',
        user_email: null,
        username: 'Kim',
        paid_at: iso,
        updated_at: iso,
        sub_orders: [{ id: expect.any(Number), product_id: 3, product_code: null, status: 'paid' }],
      },
    ],
    lastPage: 1,
  });
});

operation('orders.upsert', 'POST /v1/orders', async () => {
  const { id: user_grade_id } = await aGrade();
  const code = newCode();
  const order = await api.orders.upsert({ ...wholeOrder, code, user_grade_id });
  expect(order).toEqual({
    id: expect.any(Number),
    code,
    user_code: 'kim',
    user_email: 'k@shop.example',
    username: 'Kim',
    phone: '010-0000-0000',
    total_price: { cents: 2_350_050, currency_iso: 'KRW' },
    sub_orders: [],
    created_at: '2024-01-05T09:00:00.000+09:00',
    updated_at: iso,
  });
  expect((await anOrder(code)).id).toBe(order.id);
});

operation('subOrders.create', 'POST /v1/orders/:order_id/sub_orders', async () => {
  const { id: orderId } = await anOrder();
  const { id } = await api.subOrders.create(orderId, wholeLine);
  expect((await api.orders.get(orderId)).sub_orders).toEqual([
    {
      ...wholeLine,
      id,
      price: { cents: 1250, currency_iso: 'KRW' },
      reviews_count: 0,
      delivery_started_at: iso,
      delivered_at: iso,
      created_at: iso,
      updated_at: iso,
    },
  ]);
});

operation('subOrders.update', 'PUT /v1/orders/:order_id/sub_orders/:id', async () => {
  const { orderId, id, read } = await aSubOrder();
  await api.subOrders.update(orderId, id, wholeLine);
  await api.subOrders.update(orderId, id, { invoice: null, status: 'paid', product_options: { Size: 'a&b' } });
  expect(await read()).toMatchObject([{ invoice: null, status: 'paid', product_options: { Size: 'a&b' } }]);
});

operation('subOrders.remove', 'DELETE /v1/orders/:order_id/sub_orders/:id', async () => {
  const { orderId, id, read } = await aSubOrder();
  await api.subOrders.remove(orderId, id);
  expect(await read()).toEqual([]);
});

operation('categories.list', 'GET /v1/categories', async () => {
  await aCategory();
  expect((await api.categories.list({ limit: 1, page: 1 })).items).toHaveLength(1);
});

operation('categories.upsert', 'POST /v1/categories', async () => {
  const parent = await aCategory();
  const code = newCode();
  const below = { code, ...wholeCategory };
  const category = await api.categories.upsert({ ...below, parent_category_id: String(parent.id) });
  expect(category).toEqual({
    id: expect.any(Number),
    ...below,
    depth: 2,
    parent_category_id: parent.id,
    created_at: iso,
    updated_at: iso,
  });
  expect((await api.categories.upsert({ ...below, parent_category_code: parent.code })).id).toBe(category.id);
});

operation('userGrades.list', 'GET /v1/user_grades', async () => {
  await aGrade();
  await aGrade();
  expect(await api.userGrades.list({ limit: 1, page: 2 })).toMatchObject({ items: [{}], lastPage: expect.any(Number) });
});

operation('userGrades.listAll', 'GET /v1/user_grades', async () => {
  const ids = [(await aGrade()).id, (await aGrade()).id];
  expect(await idsOf(api.userGrades.listAll({ limit: 1 }))).toEqual(expect.arrayContaining(ids));
});

operation('userGrades.get', 'GET /v1/user_grades/:id', async () => {
  const grade = await aGrade();
  expect(await api.userGrades.get(grade.id)).toEqual(grade);
});

operation('userGrades.create', 'POST /v1/user_grades', async () => {
  const fields = { name: 'Gold', icon_url: 'https://shop.example/gold.png' };
  const dates = { created_at: iso, updated_at: iso };
  expect(await api.userGrades.create(fields)).toEqual({ id: expect.any(Number), ...fields, ...dates });
});

operation('userGrades.update', 'PATCH /v1/user_grades/:id', async () => {
  const { id } = await aGrade();
  await api.userGrades.update(id, { name: 'Silver', icon_url: 'https://shop.example/silver.png' });
  expect((await api.userGrades.get(id)).name).toBe('Silver');
});

operation('userGrades.remove', 'DELETE /v1/user_grades/:id', async () => {
  const { id } = await aGrade();
  await api.userGrades.remove(id);
  await gone(api.userGrades.get(id));
});

operation('reviews.list', 'GET /v1/reviews', async () => {
  const review = await aReview();
  const { items } = await api.reviews.list({ product_code: 'P-1', score: 4, limit: 100 });
  const { comments: _single, tag_name: _too, ...shown } = review;
  expect(items.find(({ id }) => id === review.id)).toEqual({
    ...shown,
    comments: null,
    comments_count: 0,
    tag_name: null,
  });
  const filters: Full<ReviewFilters> = {
    product_id: 7,
    product_code: 'P-7',
    user_code: 'kim',
    category_id: 1,
    category_code: 'C-1',
    score: 5,
    photo: true,
    date_updated_at: true,
    date_order_desc: true,
    tag_name: 'summer',
    third_party_name: 'partner',
    sub_brand_id: 1,
    sub_brand_code: 'S',
  };
  await api.reviews.list({ ...filters, start_date: '2024-01-01', end_date: '2024-01-31', limit: 1, page: 1 });
  await api.reviews.list({ start_datetime: '2024-01-01 00:00:00', end_datetime: '2024-01-31 23:59:59' });
});

operation('reviews.page', 'GET /v1/reviews', async () => {
  await aReview();
  const { rawBody, items } = await api.reviews.page({ date_order_desc: true, limit: 1 }, 1);
  expect(JSON.parse(rawBody.toString())).toEqual(items);
});

operation('reviews.getRaw', 'GET /v1/reviews/:id', async () => {
  const { id, code } = await aReview();
  const { rawBody, item } = await api.reviews.getRaw(id);
  expect(JSON.parse(rawBody.toString())).toEqual(item);
  expect(item).toMatchObject({ id, code });
});

operation('reviews.upsert', 'POST /v1/reviews', async () => {
  const code = newCode();
  const text = { code, message: '좋아요 & more', score: 5, user_code: 'kim', user_name: 'Kim', tag_name: 'summer' };
  const body: Full<ReviewBody> = {
    ...updatedReview(),
    ...text,
    product_options: { Size: 'L' },
    review_source_url: 'https://s.example/1',
    options: [
      { review_option_type_id: 1, created_at: at, value: 'dry', code: newCode() },
      { review_option_type_id: 2, created_at: at, value: '165' },
    ],
  };
  const review = await api.reviews.upsert(body);
  const dates = { created_at: iso, updated_at: iso };
  const option = { id: expect.any(Number), review_id: review.id, ...dates };
  expect(review).toEqual({
    id: expect.any(Number),
    ...text,
    display: false,
    user_id: expect.any(Number),
    ...dates,
    product_id: expect.any(Number),
    product_code: 'P-7',
    product_options: { Size: 'L' },
    review_type: 'text',
    images_count: 0,
    images: [],
    videos_count: 0,
    videos: [],
    video_urls: [],
    likes_count: 0,
    plus_likes_count: 0,
    comments_count: null,
    comments: [],
    source: 'brand_pc',
    order_code: null,
    sub_order_code: null,
    store_order: false,
    store_name: null,
    third_party_name: null,
    sub_brand_id: null,
    options: [
      { ...option, review_option_type_id: 1, value: 'dry' },
      { ...option, review_option_type_id: 2, value: '165' },
    ],
  });
  expect((await aReview(code)).id).toBe(review.id);
});

test('a rating is taken away by null, and options of a review are changed by PATCH and by PUT', async () => {
  const { id } = await aReview();
  await api.reviews.update(id, { score: null, message: 'Hm.', product_options: { Size: 'S' } });
  expect(await api.reviews.get(id)).toMatchObject({ score: null, message: 'Hm.', product_options: { Size: 'S' } });
  await api.reviews.put(id, { score: null, product_options: { Size: 'L' } });
  expect(await api.reviews.get(id)).toMatchObject({ score: null, product_options: { Size: 'L' } });
});

operation('reviews.overview', 'GET /v1/reviews/overview', async () => {
  await aReview();
  const bounds = { first_review_created_at: iso, last_review_created_at: iso };
  expect(await api.reviews.overview()).toEqual({
    ...bounds,
    serviceNow: expect.any(Date),
    requestedAt: expect.any(Date),
  });
});

test('no method of the client is without its test', () => {
  const methods = Object.entries(api).flatMap(([resource, of]) =>
    typeof of === 'object' ? Object.keys(of).map((method) => `${resource}.${method}`) : [],
  );
  expect(covered.toSorted()).toEqual(['authenticate', ...methods].sort());
});

test('whatever the client sends with every field it knows, and whatever it gets, is in the service’s document', () => {
  const readings = witness.exchanges.map(read);
  expect(readings.length).toBeGreaterThan(100);
  expect(readings.flatMap(({ faults }) => faults)).toEqual([]);
  const exercised = new Set(readings.map(({ operation }) => operation));
  expect(operationIds().filter((id) => !exercised.has(id))).toEqual(notOfTheClient);
  expect(unsentParameters(readings)).toEqual(notInTheSpec);
});

test('a field, a type, a status or a header that the readings do not share is told', () => {
  const [base] = witness.exchanges.filter(({ method, path }) => method === 'GET' && /^\/v1\/orders\?/.test(path));
  const faultsOf = (changed: Partial<Exchange>) => read({ ...(base as Exchange), ...changed }).faults;
  expect(faultsOf({})).toEqual([]);
  const [order] = JSON.parse(base?.body ?? '[]');
  const answering = (fields: object) => faultsOf({ body: JSON.stringify([{ ...order, ...fields }]) });
  const cases = [
    faultsOf({ path: '/v1/orders?limit=101' }),
    faultsOf({ path: '/v1/orders?paid_on=5.1.2024' }),
    faultsOf({ path: '/v1/orders?shop=1' }),
    faultsOf({ path: '/v1/invoices' }),
    faultsOf({ method: 'POST', path: '/v1/orders', requestBody: 'code=A' }),
    faultsOf({ status: 204 }),
    faultsOf({ headers: new Headers({ 'content-type': 'application/json' }) }),
    faultsOf({ body: '{"orders":[]}' }),
    answering({ total_price: 5 }),
    answering({ paid_at: '2024-01-05T00:00:00Z' }),
    answering({ phone: '010' }),
    answering({ id: '1' }),
  ];
  for (const [index, faults] of cases.entries()) expect([index, faults.length > 0]).toEqual([index, true]);
});

/** The service's own liberties, which the spec does not have and the client does not take. */
const notOfTheClient = [
  'getOpenApi',
  ...['putOrderByCode', 'patchSubOrder', 'putCategoryByCode', 'putUserGrade', 'putReviewByCode'],
];
const notInTheSpec = [
  ...['addSubOrder product_code', 'changeSubOrder product_code'],
  ...['updateCategoryByCode', 'updateCategory', 'putCategory'].map((id) => `${id} parent_category_code`),
];

function operationIds(): string[] {
  return Object.values(document.paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
}

/** Parameters of the operations that the client has, which it never sent. */
function unsentParameters(readings: readonly { operation: string | undefined; sent: string[] }[]): string[] {
  const sent = new Set(readings.flatMap(({ operation, sent }) => sent.map((name) => `${operation} ${name}`)));
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const known = operations.flatMap(({ operationId, parameters = [], requestBody }) => {
    const form = requestBody?.content['application/x-www-form-urlencoded']?.schema.properties ?? {};
    const inQuery = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
    return [...inQuery, ...Object.keys(form)].map((name) => `${operationId} ${name}`);
  });
  const isOurs = (name: string) => !notOfTheClient.includes(name.split(' ')[0] ?? '') && !name.endsWith('access_token');
  return known.filter((name) => isOurs(name) && !sent.has(name));
}
