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

const resources = ['orders', 'subOrders', 'categories', 'userGrades', 'reviews'] as const;
let service: ReferenceService;
let proxy: Awaited<ReturnType<typeof startRuleProxy>>;
let api: ReviewApi;

beforeAll(async () => {
  service = await startReferenceService({ databaseUrl: await createDatabase(), checkAnswers: true });
  proxy = await startRuleProxy(service.url);
  api = openReviewApi({ baseUrl: proxy.url, clientId: 'demo', clientSecret: 'demo' });
  await api.authenticate();
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
  reviews_count: 0,
  delivery_started_at: iso,
  delivered_at: iso,
  created_at: iso,
  updated_at: iso,
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

type Made = { id: number; code: string };
/** The route of the spec, the call, and what the record shows afterwards, or that it is gone. */
type Call = readonly [route: string, call: (made: Made) => Promise<unknown>, after?: object | 'gone'];
type Coded = 'orders' | 'categories' | 'reviews';

/** The methods that the resources with codes share. The type of what they send differs: never. */
function coded(name: Coded, whole: object, patch: () => object, shown: object): Record<string, Call> {
  const [of, path] = [api[name], `/v1/${name}`];
  const more = () => (name === 'reviews' ? { product_options: { Size: 'M' } } : { code: newCode() });
  const byId = () => ({ ...patch(), ...more() }) as never;
  return {
    list: [`GET ${path}`, () => of.list({ limit: 1, page: 2 })],
    listAll: [`GET ${path}`, () => Array.fromAsync<unknown>(of.listAll({ limit: 1 }))],
    get: [`GET ${path}/:id`, ({ id }) => of.get(id)],
    getByCode: [`GET ${path}`, ({ code }) => of.getByCode(code)],
    upsert: [`POST ${path}`, ({ code }) => of.upsert({ ...whole, code } as never), shown],
    update: [`PATCH ${path}/:id`, ({ id }) => of.update(id, byId()), shown],
    put: [`PUT ${path}/:id`, ({ id }) => of.put(id, byId()), shown],
    updateByCode: [`PATCH ${path}`, ({ code }) => of.updateByCode(code, patch() as never), shown],
    remove: [`DELETE ${path}/:id`, ({ id }) => of.remove(id), 'gone'],
    removeByCode: [`DELETE ${path}`, ({ code }) => of.removeByCode(code), 'gone'],
  };
}

test('every method of the client does its work, and sends the route of the spec alone', async () => {
  const [grade, parent] = [
    await api.userGrades.create({ name: 'Gold' }),
    await api.categories.upsert({ code: 'top', name: 'Tops' }),
  ];
  const order = { ...wholeOrder, user_grade_id: grade.id };
  const category = { ...wholeCategory, parent_category_id: String(parent.id), parent_category_code: parent.code };
  const { parent_category_code: _, ...categoryPatch } = category;
  const { id: orderId } = await api.orders.upsert({ code: newCode(), ...orderFields });
  const gradeFields = { name: 'Silver', icon_url: 'https://shop.example/silver.png' };
  const [grades, reviews, subOrders] = ['/v1/user_grades', '/v1/reviews', '/v1/orders/:id/sub_orders'];
  const calls: Record<(typeof resources)[number], Record<string, Call>> = {
    orders: {
      ...coded('orders', order, () => order, shownOrder),
      list: [
        'GET /v1/orders',
        () => api.orders.list({ paid_on: '2024-01-05', usernames: ['choi', 'lee'], limit: 1, page: 1 }),
      ],
    },
    subOrders: {
      create: [`POST ${subOrders}`, () => api.subOrders.create(orderId, wholeLine)],
      update: [`PUT ${subOrders}/:id`, ({ id }) => api.subOrders.update(orderId, id, wholeLine)],
      remove: [`DELETE ${subOrders}/:id`, ({ id }) => api.subOrders.remove(orderId, id)],
    },
    categories: coded('categories', category, () => categoryPatch, wholeCategory),
    userGrades: {
      list: [`GET ${grades}`, () => api.userGrades.list({ limit: 1, page: 2 })],
      listAll: [`GET ${grades}`, () => Array.fromAsync(api.userGrades.listAll({ limit: 1 }))],
      get: [`GET ${grades}/:id`, ({ id }) => api.userGrades.get(id)],
      create: [`POST ${grades}`, () => api.userGrades.create(gradeFields)],
      update: [`PATCH ${grades}/:id`, ({ id }) => api.userGrades.update(id, gradeFields), gradeFields],
      remove: [`DELETE ${grades}/:id`, ({ id }) => api.userGrades.remove(id), 'gone'],
    },
    reviews: {
      ...coded('reviews', wholeReview(), updatedReview, shownReview),
      list: [
        `GET ${reviews}`,
        () => api.reviews.list({ ...filters, start_date: '2024-01-01', end_date: '2024-01-31', limit: 1, page: 1 }),
      ],
      page: [
        `GET ${reviews}`,
        () => api.reviews.page({ start_datetime: '2024-01-01 00:00:00', end_datetime: '2024-01-31 23:59:59' }, 1),
      ],
      getRaw: [`GET ${reviews}/:id`, ({ id }) => api.reviews.getRaw(id)],
      overview: [`GET ${reviews}/overview`, () => api.reviews.overview()],
    },
  };
  const make: Record<(typeof resources)[number], () => Promise<{ id: number; code?: string | null }>> = {
    orders: () => api.orders.upsert({ code: newCode(), ...orderFields }),
    subOrders: () => api.subOrders.create(orderId, { product_id: 3, price: '1' }),
    categories: () => api.categories.upsert({ code: newCode(), name: 'Tops' }),
    userGrades: () => api.userGrades.create({ name: newCode() }),
    reviews: () => api.reviews.upsert({ code: newCode(), message: 'Good.', score: 4, product_code: 'P-1' }),
  };
  for (const name of resources) {
    expect(Object.keys(calls[name]).sort()).toEqual(Object.keys(api[name]).sort());
    for (const [method, [route, call, after]] of Object.entries(calls[name])) {
      const { id, code } = await make[name]();
      const from = proxy.requests.length;
      await call({ id, code: code ?? '' });
      const sent = proxy.requests.slice(from).map((one) => `${one.method} ${one.path.replaceAll(/\/\d+/g, '/:id')}`);
      // A list of all has several pages.
      const requests = method === 'listAll' ? [...new Set(sent)] : sent;
      expect([name, method, requests]).toEqual([name, method, [route]]);
      if (name === 'subOrders' || after === undefined) continue;
      if (after === 'gone') await expect(api[name].get(id)).rejects.toThrow(NotFoundError);
      else expect([method, await api[name].get(id)]).toMatchObject([method, after]);
    }
  }
  // Created, updated and removed: the first is whole, the second became so, the third is gone.
  const { sub_orders: lines } = await api.orders.get(orderId);
  expect(lines.filter(({ price }) => price?.cents === 1250)).toMatchObject([shownLine, shownLine]);
  expect(lines).toHaveLength(3);
});

/** The service's own liberties, which the spec does not have and the client does not take. */
const notOfTheClient = 'getOpenApi putOrderByCode patchSubOrder putCategoryByCode putUserGrade putReviewByCode'.split(
  ' ',
);
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
