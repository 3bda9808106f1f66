import { asObject, nothing, parseJson, requireSameCode, ShapeError } from './answer.ts';
import type { Answer, Send } from './call.ts';
import { requireAmount, requireCode, requireDay, requireId, requireLimit, requirePage } from './check.ts';
import { asOrderDetail, asOrderListItem, type OrderDetail, type OrderListItem } from './order-shapes.ts';
import { allPages, type Page, readPage } from './pages.ts';

const path = '/v1/orders';

/** Body of `POST /v1/orders` (spec, 'Create or update an order'). Dates are ISO 8601, read to the second. */
export type OrderBody = {
  /** The shop's order number. */
  code: string;
  created_at: string;
  /** Amount actually paid, as decimal text in whole units of the currency: "12.50". */
  total_price: string;
  /** The buyer's account in the shop; when absent the order is one of a non-member. */
  user_code?: string | undefined;
  /** Comes back as `username`. */
  user_name?: string | undefined;
  /** Comes back as `phone`. */
  user_phone?: string | undefined;
  /** When absent no review e-mail is sent. */
  user_email?: string | undefined;
  user_grade_id?: number | undefined;
  /** Of an offline order. */
  store_name?: string | undefined;
  order_device?: 'pc' | 'mobile' | undefined;
  /** Points used. */
  mileage?: number | undefined;
};

/** What an update may change. What is left out stays as it is. */
export type OrderPatch = { [Field in keyof OrderBody]?: OrderBody[Field] | undefined };

/** What to list (spec, 'List orders'), in pages of `limit` (1 to 100, default 100). */
export type OrderListAllParams = {
  limit?: number | undefined;
  /** The day of payment, `yyyy-mm-dd` in the service's zone. */
  paid_on?: string | undefined;
  /** Only the orders of these accounts; a name cannot hold a comma. */
  usernames?: readonly string[] | undefined;
};

/** What to list, and which page of it: `page` from 1, the default. */
export type OrderListParams = OrderListAllParams & { page?: number | undefined };

export type Orders = ReturnType<typeof orders>;

/** Orders (spec, 'Orders'). Their details hold the sub-orders. */
export function orders(send: Send) {
  const api = {
    /** One page of the orders (spec, 'List orders'). @throws TypeError for an empty or malformed filter. */
    async list(params: OrderListParams = {}): Promise<Page<OrderListItem>> {
      return send({ method: 'GET', path, params: listQuery(params) }, readPage(asOrderListItem));
    },

    /** All pages of the orders, one request each. @throws as `list` does. */
    listAll(params: OrderListAllParams = {}): AsyncGenerator<Page<OrderListItem>, void, undefined> {
      return allPages(path, params.limit ?? 100, (page) => api.list({ ...params, page }));
    },

    /** An order by the service's id (spec, 'Get order by id'). @throws NotFoundError */
    async get(id: number): Promise<OrderDetail> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}` }, readOrder);
    },

    /**
     * An order by the shop's code. The spec does not show method and path: they are those of the other resources.
     *
     * @throws NotFoundError
     * @throws MalformedAnswerError where the service answers with orders that lack this one.
     */
    async getByCode(code: string): Promise<OrderDetail> {
      const params = { code: requireCode(code) };
      const found = await send({ method: 'GET', path, params }, (answer) => byCode(answer, code));
      return typeof found === 'number' ? api.get(found) : found;
    },

    /** Creates the order or updates the one with this code (spec, 'Create or update an order'): twice does no harm. */
    async upsert(body: OrderBody): Promise<OrderDetail> {
      requireCode(body.code);
      return send({ method: 'POST', path, params: checked(body) }, readOrder);
    },

    /** Changes the fields given, the code too (spec, 'Update an order by id'). @throws NotFoundError */
    async update(id: number, patch: OrderPatch): Promise<void> {
      return send({ method: 'PATCH', path: `${path}/${requireId(id)}`, params: checked(patch) }, nothing);
    },

    /** Changes the fields given of the order with this code (spec, 'Update an order by code'). @throws NotFoundError */
    async updateByCode(code: string, patch: Omit<OrderPatch, 'code'>): Promise<void> {
      return send({ method: 'PATCH', path, params: { ...checked(patch), code: requireCode(code) } }, nothing);
    },

    /**
     * As `update`, by PUT (spec, 'Update by PUT'): the fields stand in the address, where logs on the way can keep them.
     * Of a customer's data nothing should go so.
     */
    async put(id: number, patch: OrderPatch): Promise<void> {
      return send({ method: 'PUT', path: `${path}/${requireId(id)}`, params: checked(patch) }, nothing);
    },

    /**
     * Permanent, and takes sub-orders, reviews and send records along (spec, 'Delete an order'). One that is gone already
     * is success.
     */
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

function listQuery({ limit = 100, page = 1, paid_on, usernames }: OrderListParams) {
  if (paid_on !== undefined) requireDay(paid_on, 'paid_on');
  for (const name of usernames ?? []) {
    if (requireCode(name, 'name in usernames').includes(',')) throw new TypeError('expected usernames without commas');
  }
  if (usernames?.length === 0) throw new TypeError('expected usernames with names: an empty list would be read as all');
  return { limit: requireLimit(limit), page: requirePage(page), paid_on, usernames: usernames?.join(',') };
}

function checked<Body extends OrderPatch>(body: Body): Body {
  if (body.code !== undefined) requireCode(body.code);
  if (body.total_price !== undefined) requireAmount(body.total_price, 'total_price');
  if (body.user_grade_id !== undefined) requireId(body.user_grade_id, 'user_grade_id');
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
