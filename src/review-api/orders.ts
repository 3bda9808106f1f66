import { asObject, nothing, parseJson, requireSameCode, ShapeError } from './answer.ts';
import type { Answer, Send } from './call.ts';
import { requireAmount, requireCode, requireId, requireLimit } from './check.ts';
import { asOrderDetail, asOrderListItem, type OrderDetail, type OrderListItem } from './order-shapes.ts';
import { allPages, type Page, readPage } from './pages.ts';

const path = '/v1/orders';

/** Body of `POST /v1/orders`. Dates are ISO 8601, read to the second. */
export type OrderBody = {
  code: string;
  created_at: string;
  /** Amount actually paid, as decimal text in whole units of the currency: "12.50". */
  total_price: string;
  user_code?: string | undefined;
  user_name?: string | undefined;
  user_phone?: string | undefined;
  /** When absent no review e-mail is sent. */
  user_email?: string | undefined;
  user_grade_id?: number | undefined;
  store_name?: string | undefined;
  order_device?: 'pc' | 'mobile' | undefined;
  /** Points used. */
  mileage?: number | undefined;
};

export type OrderPatch = { [Field in keyof OrderBody]?: OrderBody[Field] | undefined };

export type OrderListParams = {
  /** Page size, 1 to 100, default 100. */
  limit?: number;
  page?: number;
  /** `yyyy-mm-dd` in the service's zone. */
  paidOn?: string;
  usernames?: readonly string[];
};

export type Orders = ReturnType<typeof orders>;

export function orders(send: Send) {
  const api = {
    async list({ limit = 100, page = 1, paidOn, usernames }: OrderListParams = {}): Promise<Page<OrderListItem>> {
      const params = { limit: requireLimit(limit), page, paid_on: paidOn, usernames: usernames?.join(',') };
      return send({ method: 'GET', path, params }, readPage(asOrderListItem));
    },

    listAll(params: Omit<OrderListParams, 'page'> = {}): AsyncGenerator<Page<OrderListItem>, void, undefined> {
      return allPages(path, params.limit ?? 100, (page) => api.list({ ...params, page }));
    },

    async get(id: number): Promise<OrderDetail> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}` }, readOrder);
    },

    /** Method and path are not shown in the spec; as the other resources do it (FACTS). */
    async getByCode(code: string): Promise<OrderDetail> {
      const params = { code: requireCode(code) };
      const found = await send({ method: 'GET', path, params }, (answer) => byCode(answer, code));
      return typeof found === 'number' ? api.get(found) : found;
    },

    /** Creates the order or updates the one with this code: sending it twice does no harm. */
    async upsert(body: OrderBody): Promise<OrderDetail> {
      requireCode(body.code);
      return send({ method: 'POST', path, params: checked(body) }, readOrder);
    },

    async update(id: number, patch: OrderPatch): Promise<void> {
      if (patch.code !== undefined) requireCode(patch.code);
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params: checked(patch) }, nothing);
    },

    async updateByCode(code: string, patch: Omit<OrderPatch, 'code'>): Promise<void> {
      return send({ method: 'PATCH', path, params: { ...checked(patch), code: requireCode(code) } }, nothing);
    },

    /** Permanent, and takes sub-orders, reviews and send records along (spec, 'Delete an order'; promise 6). */
    async remove(id: number): Promise<void> {
      return send({ method: 'DELETE', path: `${path}/${requireId(id)}`, absentIsFine: true }, nothing);
    },

    /** As `remove`. */
    async removeByCode(code: string): Promise<void> {
      return send({ method: 'DELETE', path, params: { code: requireCode(code) }, absentIsFine: true }, nothing);
    },
  };
  return api;
}

function checked<Body extends OrderPatch>(body: Body): Body {
  if (body.total_price !== undefined) requireAmount(body.total_price, 'total_price');
  return body;
}

const readOrder = (answer: Answer) => asOrderDetail(parseJson(answer));

/** The order, or its id where the service answers with a list. A list without the code says nothing about it. */
function byCode(answer: Answer, code: string): OrderDetail | number {
  const body = parseJson(answer);
  if (Array.isArray(body)) {
    const item = body.map(asOrderListItem).find((order) => order.code === code);
    if (item) return item.id;
    throw new ShapeError('expected the order with this code, got a list without it');
  }
  requireSameCode(asObject(body, 'an order').code, code);
  return asOrderDetail(body);
}
