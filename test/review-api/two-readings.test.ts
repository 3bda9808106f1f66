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
let client: ReviewApi;
/** The client, noting which of its methods were called, and where among all requests those of each call begin. */
let api: ReviewApi;
const calls: { name: string; from: number }[] = [];
const resources = ['orders', 'subOrders', 'categories', 'userGrades', 'reviews'] as const;

beforeAll(async () => {
  service = await startReferenceService({ databaseUrl: await createDatabase(), checkAnswers: true });
  proxy = await startRuleProxy(service.url);
  client = openReviewApi({ baseUrl: proxy.url, clientId: 'demo', clientSecret: 'demo' });
  await client.authenticate();
  const noting = (resource: (typeof resources)[number]) =>
    Object.entries<(...args: unknown[]) => unknown>(client[resource] as never).map(([method, call]) => [
      method,
      (...args: unknown[]) => {
        calls.push({ name: `${resource}.${method}`, from: proxy.requests.length });
        return call(...args);
      },
    ]);
  api = Object.fromEntries(resources.map((one) => [one, Object.fromEntries(noting(one))])) as never;
});

afterAll(async () => {
  await client.close();
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

async function idsOf(pages: AsyncIterable<{ items: { id: number }[] }>): Promise<number[]> {
  const ids: number[] = [];
  for await (const { items } of pages) ids.push(...items.map(({ id }) => id));
  return ids;
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
const codedNames = ['orders', 'categories', 'reviews'] as const;

test.each(codedNames)('each operation that the resources with codes share does its work: %s', async (name) => {
  const { make, fields, shown } = coded[name];
  const of = api[name];
  const one = async () => {
    const { id, code } = await make();
    return { id, code: code ?? '' };
  };
  const [first, second] = [await one(), await one()];
  expect(await idsOf(of.listAll({ limit: 1 }))).toEqual(expect.arrayContaining([first.id, second.id]));
  await shows(of.get(first.id), first);
  await shows(of.getByCode(second.code), second);
  await gone(of.get(999_999));
  await gone(of.getByCode('none'));
  /** The type: the fields of the three resources differ. An update cannot change the code of a review. */
  const patch = async (more: object = name === 'reviews' ? {} : { code: newCode() }) =>
    ({ ...(await fields()), ...more }) as never;
  await of.update(first.id, await patch());
  await shows(of.get(first.id), shown);
  await of.put(second.id, await patch());
  await shows(of.get(second.id), shown);
  const { id, code } = await one();
  await of.updateByCode(code, await patch({}));
  await shows(of.get(id), { code, ...shown });
  await of.removeByCode(code);
  await gone(of.get(id));
  for (const _again of [1, 2]) await of.remove(first.id);
  await gone(of.get(first.id));
});

test('orders are listed by day and account, and an upsert sends each field', async () => {
  const { id } = await api.orders.upsert({ code: newCode(), ...orderFields, user_name: 'Kim', user_code: 'choi' });
  await api.subOrders.create(id, { product_id: 3, price: '1', status: 'paid' });
  const page = api.orders.list({ paid_on: '2024-01-05', usernames: ['choi', 'lee'], limit: 1, page: 1 });
  await shows(page, { items: [{ id, user_code: 'choi', paid_at: iso, sub_orders: [{ status: 'paid' }] }] });
  const [code, { id: user_grade_id }] = [newCode(), await aGrade()];
  const order = await api.orders.upsert({ ...wholeOrder, code, user_grade_id });
  expect(order).toMatchObject({ code, ...shownOrder, user_code: 'kim', user_email: 'k@shop.example' });
  expect((await anOrder(code)).id).toBe(order.id);
});

test('a sub-order is created, updated and removed', async () => {
  const { id: orderId } = await anOrder();
  const linesOf = async () => (await api.orders.get(orderId)).sub_orders;
  const { id } = await api.subOrders.create(orderId, wholeLine);
  expect(await linesOf()).toEqual([{ ...shownLine, id }]);
  await api.subOrders.update(orderId, id, wholeLine);
  const changed = { invoice: null, status: 'paid', product_options: { Size: 'a&b' } } as const;
  await api.subOrders.update(orderId, id, changed);
  expect(await linesOf()).toMatchObject([changed]);
  await api.subOrders.remove(orderId, id);
  expect(await linesOf()).toEqual([]);
});

test('a category is made below another one, by its id or its code', async () => {
  const [parent, below] = [await aCategory(), { code: newCode(), ...wholeCategory }];
  const category = await api.categories.upsert({ ...below, parent_category_id: String(parent.id) });
  expect(category).toMatchObject({ ...below, depth: 2, parent_category_id: parent.id });
  await shows(api.categories.upsert({ ...below, parent_category_code: parent.code }), { id: category.id });
  await shows(api.categories.list({ limit: 1, page: 1 }), { items: [{}] });
});

test('a user grade is created, listed, updated and removed', async () => {
  const fields = { name: 'Gold', icon_url: 'https://shop.example/gold.png' };
  const [gold, other] = [await api.userGrades.create(fields), await aGrade()];
  expect(gold).toMatchObject({ ...fields, created_at: iso, updated_at: iso });
  expect(await api.userGrades.get(gold.id)).toEqual(gold);
  await shows(api.userGrades.list({ limit: 1, page: 2 }), { items: [{}], lastPage: expect.any(Number) });
  expect(await idsOf(api.userGrades.listAll({ limit: 1 }))).toEqual(expect.arrayContaining([gold.id, other.id]));
  await api.userGrades.update(gold.id, { name: 'Silver', icon_url: 'https://shop.example/silver.png' });
  await shows(api.userGrades.get(gold.id), { name: 'Silver' });
  await api.userGrades.remove(gold.id);
  await gone(api.userGrades.get(gold.id));
});

test('reviews are listed, paged and read as they came, and an upsert sends each field', async () => {
  const { id, code } = await aReview();
  const { items } = await api.reviews.list({ product_code: 'P-1', score: 4, limit: 100 });
  expect(items).toContainEqual(expect.objectContaining({ id, code, comments: null, tag_name: null }));
  await api.reviews.list({ ...filters, start_date: '2024-01-01', end_date: '2024-01-31', limit: 1, page: 1 });
  await api.reviews.list({ start_datetime: '2024-01-01 00:00:00', end_datetime: '2024-01-31 23:59:59' });
  const page = await api.reviews.page({ date_order_desc: true, limit: 1 }, 1);
  expect(JSON.parse(page.rawBody.toString())).toEqual(page.items);
  const { rawBody, item } = await api.reviews.getRaw(id);
  expect([JSON.parse(rawBody.toString()), item]).toEqual([item, expect.objectContaining({ id, code })]);
  await shows(api.reviews.overview(), { first_review_created_at: iso, last_review_created_at: iso });

  const body = wholeReview();
  const { id: wholeId, options, ...review } = await api.reviews.upsert(body);
  const { tag_name, product_code, product_options } = body;
  expect(review).toMatchObject({ ...shownReview, code: body.code, tag_name, product_code, product_options });
  expect(options).toMatchObject([{ value: 'dry' }, { value: '165' }]);
  expect((await aReview(body.code)).id).toBe(wholeId);
  const bare = { score: null, message: 'Hm.', product_options: { Size: 'S' } };
  await api.reviews.update(wholeId, bare);
  await shows(api.reviews.get(wholeId), bare);
  await api.reviews.put(wholeId, { score: null, product_options: { Size: 'M' } });
  await shows(api.reviews.get(wholeId), { score: null, product_options: { Size: 'M' } });
});

const byId = (path: string) => ({ get: `GET ${path}`, update: `PATCH ${path}`, remove: `DELETE ${path}` });
const byCode = (path: string) => ({
  ...{ ...byId(`${path}/:id`), put: `PUT ${path}/:id`, list: `GET ${path}`, listAll: `GET ${path}` },
  ...{
    getByCode: `GET ${path}`,
    updateByCode: `PATCH ${path}`,
    removeByCode: `DELETE ${path}`,
    upsert: `POST ${path}`,
  },
});
const [grades, reviews, subOrders] = ['/v1/user_grades', '/v1/reviews', '/v1/orders/:id/sub_orders'];
const routes: Record<(typeof resources)[number], Record<string, string>> = {
  orders: byCode('/v1/orders'),
  subOrders: { create: `POST ${subOrders}`, update: `PUT ${subOrders}/:id`, remove: `DELETE ${subOrders}/:id` },
  categories: byCode('/v1/categories'),
  userGrades: { ...byId(`${grades}/:id`), list: `GET ${grades}`, listAll: `GET ${grades}`, create: `POST ${grades}` },
  reviews: {
    ...{
      ...byCode(reviews),
      page: `GET ${reviews}`,
      getRaw: `GET ${reviews}/:id`,
      overview: `GET ${reviews}/overview`,
    },
  },
};

test('every method of the client was called, and sends the route of the spec alone', () => {
  const known = resources.flatMap((one) => Object.keys(client[one]).map((method) => `${one}.${method}`));
  expect([...new Set(calls.map(({ name }) => name))].sort()).toEqual(known.sort());
  for (const [nth, { name, from }] of calls.entries()) {
    const [resource = '', method = ''] = name.split('.');
    const requests = proxy.requests.slice(from, calls[nth + 1]?.from);
    const sent = requests.map((one) => `${one.method} ${one.path.replaceAll(/\/\d+/g, '/:id')}`);
    expect([name, new Set(sent)]).toEqual([name, new Set([routes[resource as keyof typeof routes][method]])]);
  }
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
