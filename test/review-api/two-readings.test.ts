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
import { startRuleProxy } from '../harness/proxy.ts';

// The client's reading of the spec are its types, and what it sends; the service's is the document, by which it checks
// requests and its own answers. Nothing is shared.

/** With every field that the client's type knows: the compiler asks for a new one here. */
type Full<T> = { [Field in keyof T]-?: Exclude<T[Field], undefined> };

let service: ReferenceService;
let proxy: Awaited<ReturnType<typeof startRuleProxy>>;
let api: ReviewApi;

beforeAll(async () => {
  service = await startReferenceService({ databaseUrl: await createDatabase(), checkAnswers: true });
  proxy = await startRuleProxy(service.url);
  api = openReviewApi({ baseUrl: proxy.url, clientId: 'demo', clientSecret: 'demo' });
});

afterAll(async () => {
  await api.close();
  await proxy.close();
  await service.close();
});

let made = 0;
const newCode = () => {
  made += 1;
  return `C-${made}`;
};

const at = '2024-01-05T09:00:00+09:00';
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/);
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
const shownOrder = { username: 'Kim', phone: '010-0000-0000', total_price: { cents: 2_350_050, currency_iso: 'KRW' } };
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
const shownLine = {
  ...wholeLine,
  price: { cents: 1250, currency_iso: 'KRW' },
  ...{ reviews_count: 0, delivery_started_at: iso, delivered_at: iso, created_at: iso, updated_at: iso },
};
const wholeCategory = { name: 'Shirts', status: 'hidden' } satisfies Partial<CategoryBody>;
const shownReview = { score: 5, display: false, message: '좋아요 & more', user_name: 'Kim' };
/** What an update of a review may send, by its id and by its code. */
const updatedReview = () =>
  ({
    ...shownReview,
    product_id: 7,
    product_code: 'P-7',
    created_at: at,
    user_code: 'kim',
    image_urls: ['https://i.example/1.jpg'],
    options: [{ review_option_type_id: 1, created_at: at, value: 'dry', code: newCode() }],
  }) satisfies Partial<ReviewBody>;
const wholeReview = (): Full<ReviewBody> => ({
  ...updatedReview(),
  code: newCode(),
  tag_name: 'summer',
  product_options: { Size: 'L' },
  review_source_url: 'https://s.example/1',
  options: [
    { review_option_type_id: 1, created_at: at, value: 'dry', code: newCode() },
    { review_option_type_id: 2, created_at: at, value: '165' },
  ],
});
const filters: Full<ReviewFilters> = {
  ...{ product_id: 7, product_code: 'P-7', user_code: 'kim', category_id: 1, category_code: 'C-1', score: 5 },
  ...{ photo: true, date_updated_at: true, date_order_desc: true, tag_name: 'summer', third_party_name: 'partner' },
  ...{ sub_brand_id: 1, sub_brand_code: 'S' },
};

const anOrder = (code = newCode()) => api.orders.upsert({ code, ...orderFields });
const aCategory = (code = newCode()) => api.categories.upsert({ code, name: 'Tops' });
const aGrade = () => api.userGrades.create({ name: newCode() });
const aReview = (code = newCode()) => api.reviews.upsert({ code, message: 'Good.', score: 4, product_code: 'P-1' });
const gone = (call: Promise<unknown>) => expect(call).rejects.toThrow(NotFoundError);
const shows = async (call: Promise<unknown>, expected: object) => expect(await call).toMatchObject(expected);
const linesOf = async (orderId: number) => (await api.orders.get(orderId)).sub_orders;

const aSubOrder = async () => {
  const { id: orderId } = await anOrder();
  return { orderId, id: (await api.subOrders.create(orderId, wholeLine)).id };
};

async function idsOf(pages: AsyncIterable<{ items: { id: number }[] }>): Promise<number[]> {
  const ids: number[] = [];
  for await (const { items } of pages) ids.push(...items.map(({ id }) => id));
  return ids;
}

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

/** What the three resources have in common whose records have a code. */
const coded = {
  orders: {
    make: anOrder,
    fields: async () => ({ ...wholeOrder, user_grade_id: (await aGrade()).id }),
    shown: shownOrder,
  },
  categories: {
    make: aCategory,
    fields: async () => ({ ...wholeCategory, parent_category_id: String((await aCategory()).id) }),
    shown: wholeCategory,
  },
  reviews: { make: aReview, fields: updatedReview, shown: shownReview },
};

for (const name of ['orders', 'categories', 'reviews'] as const) {
  const { make, fields, shown } = coded[name];
  const route = `/v1/${name}`;
  const one = async () => {
    const { id, code } = await make();
    return { id, code: code ?? '', of: api[name] };
  };
  /** An update cannot change the code of a review. The type: the fields of the three resources differ. */
  const patch = async (code?: string) =>
    ({ ...(await fields()), ...(code && name !== 'reviews' && { code }) }) as never;
  operation(`${name}.listAll`, `GET ${route}`, () => two(make, () => api[name].listAll({ limit: 1 })));
  operation(`${name}.get`, `GET ${route}/:id`, async () => {
    const { of, ...record } = await one();
    await shows(of.get(record.id), record);
    await gone(of.get(999_999));
  });
  operation(`${name}.getByCode`, `GET ${route}`, async () => {
    const { of, ...record } = await one();
    await shows(of.getByCode(record.code), record);
    await gone(of.getByCode('none'));
  });
  operation(`${name}.update`, `PATCH ${route}/:id`, async () => {
    const { of, id } = await one();
    await of.update(id, await patch(newCode()));
    await shows(of.get(id), shown);
  });
  operation(`${name}.updateByCode`, `PATCH ${route}`, async () => {
    const { of, id, code } = await one();
    await of.updateByCode(code, await patch());
    await shows(of.get(id), { code, ...shown });
  });
  operation(`${name}.put`, `PUT ${route}/:id`, async () => {
    const { of, id } = await one();
    await of.put(id, await patch(newCode()));
    await shows(of.get(id), shown);
  });
  operation(`${name}.remove`, `DELETE ${route}/:id`, async () => {
    const { of, id } = await one();
    await of.remove(id);
    await gone(of.get(id));
    await of.remove(id);
  });
  operation(`${name}.removeByCode`, `DELETE ${route}`, async () => {
    const { of, id, code } = await one();
    await of.removeByCode(code);
    await gone(of.get(id));
  });
}

async function two(make: () => Promise<{ id: number }>, list: () => AsyncIterable<{ items: { id: number }[] }>) {
  const ids = [(await make()).id, (await make()).id];
  expect(await idsOf(list())).toEqual(expect.arrayContaining(ids));
}

operation('orders.list', 'GET /v1/orders', async () => {
  const { id } = await api.orders.upsert({ code: newCode(), ...orderFields, user_name: 'Kim', user_code: 'choi' });
  await api.subOrders.create(id, { product_id: 3, price: '1', status: 'paid' });
  const page = api.orders.list({ paid_on: '2024-01-05', usernames: ['choi', 'lee'], limit: 1, page: 1 });
  await shows(page, { items: [{ id, user_code: 'choi', paid_at: iso, sub_orders: [{ status: 'paid' }] }] });
});

operation('orders.upsert', 'POST /v1/orders', async () => {
  const [code, { id: user_grade_id }] = [newCode(), await aGrade()];
  const order = await api.orders.upsert({ ...wholeOrder, code, user_grade_id });
  expect(order).toMatchObject({ code, ...shownOrder, user_code: 'kim', user_email: 'k@shop.example' });
  expect((await anOrder(code)).id).toBe(order.id);
});

operation('subOrders.create', 'POST /v1/orders/:order_id/sub_orders', async () => {
  const { orderId, id } = await aSubOrder();
  expect(await linesOf(orderId)).toEqual([{ ...shownLine, id }]);
});

operation('subOrders.update', 'PUT /v1/orders/:order_id/sub_orders/:id', async () => {
  const { orderId, id } = await aSubOrder();
  await api.subOrders.update(orderId, id, wholeLine);
  const changed = { invoice: null, status: 'paid', product_options: { Size: 'a&b' } } as const;
  await api.subOrders.update(orderId, id, changed);
  expect(await linesOf(orderId)).toMatchObject([changed]);
});

operation('subOrders.remove', 'DELETE /v1/orders/:order_id/sub_orders/:id', async () => {
  const { orderId, id } = await aSubOrder();
  await api.subOrders.remove(orderId, id);
  expect(await linesOf(orderId)).toEqual([]);
});

operation('categories.list', 'GET /v1/categories', async () => {
  await shows(api.categories.list({ limit: 1, page: 1 }), { items: [{}] });
});

operation('categories.upsert', 'POST /v1/categories', async () => {
  const [parent, below] = [await aCategory(), { code: newCode(), ...wholeCategory }];
  const category = await api.categories.upsert({ ...below, parent_category_id: String(parent.id) });
  expect(category).toMatchObject({ ...below, depth: 2, parent_category_id: parent.id });
  await shows(api.categories.upsert({ ...below, parent_category_code: parent.code }), { id: category.id });
});

operation('userGrades.list', 'GET /v1/user_grades', async () => {
  await aGrade();
  await shows(api.userGrades.list({ limit: 1, page: 2 }), { items: [{}], lastPage: expect.any(Number) });
});

operation('userGrades.listAll', 'GET /v1/user_grades', () => two(aGrade, () => api.userGrades.listAll({ limit: 1 })));

operation('userGrades.get', 'GET /v1/user_grades/:id', async () => {
  const grade = await aGrade();
  expect(await api.userGrades.get(grade.id)).toEqual(grade);
});

operation('userGrades.create', 'POST /v1/user_grades', async () => {
  const fields = { name: 'Gold', icon_url: 'https://shop.example/gold.png' };
  await shows(api.userGrades.create(fields), { ...fields, created_at: iso, updated_at: iso });
});

operation('userGrades.update', 'PATCH /v1/user_grades/:id', async () => {
  const { id } = await aGrade();
  await api.userGrades.update(id, { name: 'Silver', icon_url: 'https://shop.example/silver.png' });
  await shows(api.userGrades.get(id), { name: 'Silver' });
});

operation('userGrades.remove', 'DELETE /v1/user_grades/:id', async () => {
  const { id } = await aGrade();
  await api.userGrades.remove(id);
  await gone(api.userGrades.get(id));
});

operation('reviews.list', 'GET /v1/reviews', async () => {
  const { id, code } = await aReview();
  const { items } = await api.reviews.list({ product_code: 'P-1', score: 4, limit: 100 });
  expect(items).toContainEqual(expect.objectContaining({ id, code, comments: null, tag_name: null }));
  await api.reviews.list({ ...filters, start_date: '2024-01-01', end_date: '2024-01-31', limit: 1, page: 1 });
  await api.reviews.list({ start_datetime: '2024-01-01 00:00:00', end_datetime: '2024-01-31 23:59:59' });
});

operation('reviews.page', 'GET /v1/reviews', async () => {
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
  const body = wholeReview();
  const { id, options, ...review } = await api.reviews.upsert(body);
  const { code, tag_name, product_code, product_options } = body;
  expect(review).toMatchObject({ ...shownReview, code, tag_name, product_code, product_options });
  expect(options).toMatchObject([{ value: 'dry' }, { value: '165' }]);
  expect((await aReview(code)).id).toBe(id);
  const [bare, s] = [{ score: null, message: 'Hm.' }, { product_options: { Size: 'S' } }];
  await api.reviews.update(id, { ...bare, ...s });
  await shows(api.reviews.get(id), { ...bare, ...s });
  await api.reviews.put(id, { score: null, product_options: { Size: 'M' } });
  await shows(api.reviews.get(id), { score: null, product_options: { Size: 'M' } });
});

operation('reviews.overview', 'GET /v1/reviews/overview', async () => {
  await aReview();
  await shows(api.reviews.overview(), { first_review_created_at: iso, last_review_created_at: iso });
});

test('no method of the client is without its test', () => {
  const methods = Object.entries(api).flatMap(([resource, of]) =>
    typeof of === 'object' ? Object.keys(of).map((method) => `${resource}.${method}`) : [],
  );
  expect(covered.toSorted()).toEqual(methods.sort());
});

/** The service's own liberties, which the spec does not have and the client does not take. */
const notOfTheClient = 'getOpenApi putOrderByCode patchSubOrder putCategoryByCode putUserGrade putReviewByCode'.split(
  ' ',
);
const notInTheSpec = [
  ...['addSubOrder product_code', 'changeSubOrder product_code'],
  ...['updateCategoryByCode', 'updateCategory', 'putCategory'].map((id) => `${id} parent_category_code`),
];

type Operation = {
  operationId: string;
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: { properties?: object } }> };
};

test('the client sends every parameter of the document, and no other', () => {
  type Paths = Record<string, Record<string, Operation>>;
  // The token's request is not written down.
  const { '/oauth/token': _, ...paths }: Paths = JSON.parse(JSON.stringify(openApiDocument())).paths;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [], requestBody }]) => {
      const form = requestBody?.content['application/x-www-form-urlencoded']?.schema.properties ?? {};
      const names = [...parameters.filter((one) => one.in === 'query').map(({ name }) => name), ...Object.keys(form)];
      const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '\\d+')}$`);
      const requests = proxy.requests.filter((one) => one.method.toLowerCase() === method && pattern.test(one.path));
      return { id: operationId, names, requests };
    }),
  );
  expect(proxy.requests.length).toBeGreaterThan(100);
  const unused = operations.filter(({ requests }) => requests.length === 0);
  expect(unused.map(({ id }) => id)).toEqual(notOfTheClient);
  const sentBy = ({ id, requests }: (typeof operations)[number]) =>
    requests.flatMap((one) => [...one.form.keys()].map((name) => `${id} ${name}`));
  const sent = new Set(operations.flatMap(sentBy));
  const known = new Set(operations.flatMap(({ id, names }) => names.map((name) => `${id} ${name}`)));
  const isTold = (name: string) =>
    !name.endsWith(' access_token') && !notOfTheClient.includes(name.split(' ')[0] ?? '');
  expect([...sent].filter((name) => isTold(name) && !known.has(name))).toEqual([]);
  expect([...known].filter((name) => isTold(name) && !sent.has(name))).toEqual(notInTheSpec);
});
