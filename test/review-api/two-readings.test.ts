import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type CategoryBody,
  type OrderBody,
  openReviewApi,
  type ReviewApi,
  type ReviewBody,
  type ReviewFilters,
  type ReviewOptionInput,
  type SubOrderBody,
} from '../../src/review-api/index.ts';
import { type ReferenceService, startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { openApiDocument } from '../../src/sandbox/reference-service/schemas/openapi.ts';
import { createDatabase } from '../harness/database.ts';
import { type Document, openApiReader } from '../harness/openapi.ts';
import { type Exchange, startWitness } from '../harness/witness.ts';

// The client's reading of the spec are its types, and what it sends; the service's is the document. Nothing is shared.
const document = JSON.parse(JSON.stringify(openApiDocument())) as Document;
const read = openApiReader(document);

let service: ReferenceService;
let witness: Awaited<ReturnType<typeof startWitness>>;
let api: ReviewApi;

beforeAll(async () => {
  service = await startReferenceService({ databaseUrl: await createDatabase() });
  witness = await startWitness(service.url);
  api = openReviewApi({ baseUrl: witness.url, clientId: 'demo', clientSecret: 'demo' });
});

afterAll(async () => {
  await api.close();
  await witness.close();
  await service.close();
});

/** With every field that the client's type knows: the compiler asks for a new one here. */
type Full<T> = { [Field in keyof T]-?: Exclude<T[Field], undefined> };

const at = '2024-01-05T09:00:00+09:00';

test('whatever the client sends with every field it knows, and whatever it gets, is in the document', async () => {
  await orders();
  await categories();
  await userGrades();
  await reviews();
  await api.reviews.get(999_999).catch(() => {});
  const readings = witness.exchanges.map(read);
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
  ...['getOpenApi', 'listWebhookReceivers', 'registerWebhookReceiver', 'deleteWebhookReceiver'],
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

async function orders(): Promise<void> {
  const { id: grade } = await api.userGrades.create({ name: 'Gold' });
  const body: Full<OrderBody> = {
    code: 'A-1',
    created_at: at,
    total_price: '12.50',
    user_code: 'kim',
    user_name: 'Kim',
    user_phone: '010',
    user_email: 'kim@shop.example',
    user_grade_id: grade,
    store_name: 'Mapo',
    order_device: 'pc',
    mileage: 5,
  };
  const { code, ...fields } = body;
  const { id } = await api.orders.upsert(body);
  await api.orders.update(id, body);
  await api.orders.updateByCode(code, fields);
  await api.orders.put(id, body);
  const line: Full<SubOrderBody> = {
    product_id: 7,
    price: '12.50',
    delivery_started_at: at,
    delivered_at: at,
    status: 'paid',
    invoice: 'I-1',
    delivery_service: 'Post',
    product_options: { Size: 'L', Colour: 'red' },
  };
  const { id: lineId } = await api.subOrders.create(id, line);
  await api.subOrders.update(id, lineId, line);
  await api.subOrders.update(id, lineId, { invoice: null, delivered_at: null });
  await api.orders.list({ limit: 1, page: 1, paid_on: '2024-01-05', usernames: ['kim'] });
  await api.orders.get(id);
  await api.orders.getByCode(code);
  await api.subOrders.remove(id, lineId);
  await api.orders.remove(id);
  await api.orders.upsert(body);
  await api.orders.removeByCode(code);
}

async function categories(): Promise<void> {
  const top = await api.categories.upsert({ code: 'TOP', name: 'Top' });
  const body: Full<CategoryBody> = {
    code: 'C-1',
    name: 'Shirts',
    status: 'hidden',
    parent_category_id: String(top.id),
    parent_category_code: 'TOP',
  };
  const { code, parent_category_code: _, ...fields } = body;
  const { id } = await api.categories.upsert(body);
  await api.categories.update(id, { ...fields, code });
  await api.categories.updateByCode(code, fields);
  await api.categories.put(id, { ...fields, code });
  await api.categories.list({ limit: 1, page: 2 });
  await api.categories.get(id);
  await api.categories.getByCode(code);
  await api.categories.remove(id);
  await api.categories.removeByCode('TOP');
}

async function userGrades(): Promise<void> {
  const body = { name: 'Silver', icon_url: 'https://shop.example/silver.png' };
  const { id } = await api.userGrades.create(body);
  await api.userGrades.update(id, body);
  await api.userGrades.list({ limit: 1, page: 1 });
  await api.userGrades.get(id);
  await api.userGrades.remove(id);
}

async function reviews(): Promise<void> {
  const option: Full<ReviewOptionInput> = { review_option_type_id: 1, created_at: at, value: 'dry', code: 'O-1' };
  const body: Full<ReviewBody> = {
    code: 'R-1',
    product_id: 7,
    product_code: 'P-7',
    product_options: { Size: 'L' },
    created_at: at,
    score: 5,
    message: 'Good.',
    user_code: 'kim',
    user_name: 'Kim',
    image_urls: ['https://i.example/1.jpg'],
    display: true,
    options: [option],
    review_source_url: 'https://s.example/1',
    tag_name: 'summer',
  };
  const { code, product_options, review_source_url: _url, tag_name: _tag, ...fields } = body;
  const { id } = await api.reviews.upsert(body);
  await api.reviews.update(id, { ...fields, product_options });
  await api.reviews.update(id, { score: null });
  await api.reviews.updateByCode(code, fields);
  await api.reviews.put(id, { ...fields, product_options });
  await api.reviews.get(id);
  await api.reviews.getByCode(code);
  await api.reviews.overview();
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
  const times = { start_datetime: '2024-01-01 00:00:00', end_datetime: '2024-01-31 23:59:59' };
  await api.reviews.list({ ...times, limit: 100 });
  await api.reviews.remove(id);
  await api.reviews.upsert({ ...body, options: [] });
  await api.reviews.removeByCode(code);
}
