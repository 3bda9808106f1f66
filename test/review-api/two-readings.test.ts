import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type CategoryBody,
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
  await api.userGrades.create({ name: 'Gold' });
  await api.categories.upsert({ code: 'top', name: 'Tops' });
  await api.orders.upsert({ code: 'C-1', created_at: at, total_price: '1' });
  await api.reviews.upsert({ code: 'C-1', message: 'Good.', product_code: 'P-1' });
});

afterAll(async () => {
  await api.close();
  await proxy.close();
  await service.close();
});

const at = '2024-01-05T09:00:00+09:00';
const order: Full<OrderBody> = {
  code: 'C-2',
  created_at: at,
  total_price: '23500.50',
  user_code: 'kim',
  user_name: 'Kim',
  user_phone: '010-0000-0000',
  user_email: 'k@shop.example',
  user_grade_id: 1,
  store_name: 'Mapo',
  order_device: 'mobile',
  mileage: 30,
};
const line: Full<SubOrderBody> = {
  product_id: 3,
  price: '12.50',
  delivery_started_at: '2024-01-06T00:00:00+09:00',
  delivered_at: '2024-01-07T00:00:00+09:00',
  status: 'delivery_finished',
  invoice: 'I-1',
  delivery_service: 'Post',
  product_options: { 크기: 'L' },
};
const categoryPatch = { code: 'C-2', name: 'Shirts', status: 'hidden', parent_category_id: '1' } as const;
const category: Full<CategoryBody> = { ...categoryPatch, parent_category_code: 'top' };
const reviewPatch = {
  score: 5,
  display: false,
  message: '좋아요 & more',
  user_name: 'Kim',
  product_id: 7,
  product_code: 'P-7',
  created_at: at,
  user_code: 'kim',
  image_urls: ['https://i.example/1.jpg'],
  options: [{ review_option_type_id: 1, created_at: at, value: 'dry', code: 'O-1' }],
} as const;
const review: Full<ReviewBody> = {
  ...reviewPatch,
  code: 'C-2',
  tag_name: 'summer',
  product_options: { Size: 'L' },
  review_source_url: 'https://s.example/1',
};
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

/** The route of the spec, and what the method is called with. */
type Call = readonly [route: string, ...args: unknown[]];

const lists = (path: string): Record<string, Call> => ({
  list: [`GET ${path}`, { limit: 1, page: 2 }],
  listAll: [`GET ${path}`, { limit: 1 }],
});
/** The methods that resources with codes share. `upsert` makes the record that the last ones remove. */
const coded = (path: string, id: number, whole: object, patch: object, patchById = patch) => ({
  upsert: [`POST ${path}`, whole] as Call,
  ...lists(path),
  get: [`GET ${path}/:id`, id] as Call,
  getByCode: [`GET ${path}`, 'C-2'] as Call,
  update: [`PATCH ${path}/:id`, id, patchById] as Call,
  put: [`PUT ${path}/:id`, id, patchById] as Call,
  updateByCode: [`PATCH ${path}`, 'C-2', patch] as Call,
  removeByCode: [`DELETE ${path}`, 'C-2'] as Call,
  remove: [`DELETE ${path}/:id`, id] as Call,
});
const [grades, reviews, subOrders] = ['/v1/user_grades', '/v1/reviews', '/v1/orders/:id/sub_orders'];
const period = { start_datetime: '2024-01-01 00:00:00', end_datetime: '2024-01-31 23:59:59' };
const calls: Record<'orders' | 'subOrders' | 'categories' | 'userGrades' | 'reviews', Record<string, Call>> = {
  orders: {
    ...coded('/v1/orders', 2, order, order),
    list: ['GET /v1/orders', { paid_on: '2024-01-05', usernames: ['choi', 'lee'], limit: 1, page: 1 }],
  },
  subOrders: {
    create: [`POST ${subOrders}`, 1, line],
    update: [`PUT ${subOrders}/:id`, 1, 1, line],
    remove: [`DELETE ${subOrders}/:id`, 1, 1],
  },
  categories: coded('/v1/categories', 2, category, categoryPatch),
  userGrades: {
    create: [`POST ${grades}`, { name: 'Silver', icon_url: 'https://shop.example/silver.png' }],
    ...lists(grades),
    get: [`GET ${grades}/:id`, 2],
    update: [`PATCH ${grades}/:id`, 2, { name: 'Silver', icon_url: 'https://shop.example/silver.png' }],
    remove: [`DELETE ${grades}/:id`, 2],
  },
  reviews: {
    ...coded(reviews, 2, review, reviewPatch, { ...reviewPatch, product_options: { Size: 'M' } }),
    list: [`GET ${reviews}`, { ...filters, start_date: '2024-01-01', end_date: '2024-01-31', limit: 1, page: 1 }],
    page: [`GET ${reviews}`, period, 1],
    getRaw: [`GET ${reviews}/:id`, 1],
    overview: [`GET ${reviews}/overview`],
  },
};

test('every method of the client calls beforeSend and sends its values to the route of the spec', async () => {
  for (const [name, methods] of Object.entries(calls) as [keyof typeof calls, Record<string, Call>][]) {
    const resource: Record<string, (...args: unknown[]) => unknown> = api[name] as never;
    expect(Object.keys(methods).sort()).toEqual(Object.keys(resource).sort());
    for (const [method, [route, ...args]] of Object.entries(methods)) {
      const from = proxy.requests.length;
      const begun: string[] = [];
      const beforeSend = () => void begun.push(route);
      const isList = method.startsWith('list');
      const called = resource[method]?.(...args, ...(isList ? [] : [{ beforeSend }]));
      await (method === 'listAll' ? Array.fromAsync(called as AsyncGenerator) : called);
      const sent = proxy.requests.slice(from).map((one) => `${one.method} ${one.path.replaceAll(/\/\d+/g, '/:id')}`);
      // A list of all has several pages.
      const routes = method === 'listAll' ? [...new Set(sent)] : sent;
      expect([name, method, routes, begun]).toEqual([name, method, [route], isList ? [] : [route]]);
      const [given, { form } = { form: new URLSearchParams() }] = [args.at(-1), proxy.requests.at(-1)];
      for (const [field, value] of Object.entries(typeof given === 'object' ? { ...given } : {}))
        if (typeof value === 'string')
          expect([name, method, field, form.get(field)]).toEqual([name, method, field, value]);
    }
  }
});

/** The service's own liberties, which the spec does not have and the client does not take. */
const notOfTheClient = [
  'getOpenApi',
  'putOrderByCode',
  'patchSubOrder',
  'putCategoryByCode',
  'putUserGrade',
  'putReviewByCode',
];
const notInTheSpec = [
  'addSubOrder product_code',
  'changeSubOrder product_code',
  ...['updateCategoryByCode', 'updateCategory', 'putCategory'].map((id) => `${id} parent_category_code`),
];

type Operation = {
  operationId: string;
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: { properties?: object } }> };
};

test('the client sends every parameter of the document, and no other', () => {
  // The token's request is not written down.
  const { '/oauth/token': _, ...paths } = openApiDocument().paths as unknown as Record<
    string,
    Record<string, Operation>
  >;
  const [known, sent, unused]: [string[], string[], string[]] = [[], [], []];
  for (const [path, methods] of Object.entries(paths)) {
    const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '\\d+')}$`);
    for (const [method, { operationId, parameters = [], requestBody }] of Object.entries(methods)) {
      const requests = proxy.requests.filter((one) => one.method.toLowerCase() === method && pattern.test(one.path));
      if (requests.length === 0) unused.push(operationId);
      else {
        const form = requestBody?.content['application/x-www-form-urlencoded']?.schema.properties ?? {};
        const names = [...parameters.filter((one) => one.in === 'query').map(({ name }) => name), ...Object.keys(form)];
        known.push(...names.map((name) => `${operationId} ${name}`));
        sent.push(...requests.flatMap(({ form }) => [...form.keys()].map((name) => `${operationId} ${name}`)));
      }
    }
  }
  expect(unused).toEqual(notOfTheClient);
  const isNamed = (name: string) => !name.endsWith(' access_token');
  expect(sent.filter((name) => isNamed(name) && !known.includes(name))).toEqual([]);
  expect(known.filter((name) => isNamed(name) && !sent.includes(name))).toEqual(notInTheSpec);
});
