import type { CallOptions, HttpResponse, Send } from '../http/call.ts';
import { parseJson, withSameCode } from '../http/response-body.ts';
import { list, readShape, ShapeError } from '../http/shape.ts';
import { requireCode, requireDay, requireId, requireLimit, requirePage, sentAmount } from './check.ts';
import { type OrderDetail, type OrderListItem, orderDetail, orderListItem } from './order-shapes.ts';
import { allPages, operationsByCode, operationsById, type Page, readPage } from './resource.ts';

const path = '/v1/orders';

/**
 * Body of `POST /v1/orders` (docs/interface.md, "Orders"). Dates are ISO 8601, read to the second. `null` clears
 * the field; a field that is left out stays unchanged.
 */
export type OrderBody = {
  /** The shop's order number. */
  code: string;
  created_at: string;
  /** Amount actually paid, as decimal text in whole units of the currency: "12.50". */
  total_price: string;
  /** The buyer's account in the shop; when absent the order is one of a non-member. */
  user_code?: string | null | undefined;
  /** Returned as `username`. */
  user_name?: string | null | undefined;
  /** Returned as `phone`. */
  user_phone?: string | null | undefined;
  /** When absent no review e-mail is sent. */
  user_email?: string | null | undefined;
  user_grade_id?: number | null | undefined;
  /** Of an offline order. */
  store_name?: string | null | undefined;
  order_device?: 'pc' | 'mobile' | null | undefined;
  /** Points used. */
  mileage?: number | null | undefined;
};

/** Fields to change. A field that is left out stays unchanged. */
export type OrderPatch = { [Field in keyof OrderBody]?: OrderBody[Field] | undefined };

/** What to list (docs/interface.md, "Orders"), in pages of `limit` (1 to 100, default 100). */
export type OrderListAllParams = {
  limit?: number | undefined;
  /** The day of payment, `yyyy-mm-dd` in the service's zone. */
  paid_on?: string | undefined;
  /** Only the orders of these accounts; a name cannot hold a comma. */
  usernames?: readonly string[] | undefined;
};

/** What to list, and which page of it: `page` from 1, the default. */
export type OrderListParams = OrderListAllParams & { page?: number | undefined };

export type Orders = ReturnType<typeof ordersApi>;

/** Orders (docs/interface.md, "Orders"). Their details hold the sub-orders. */
export function ordersApi(send: Send) {
  const resource = { path, what: 'an order', shape: orderDetail, params: (patch: OrderPatch) => checked(patch) };
  const api = {
    ...operationsById(send, resource),
    ...operationsByCode(send, resource),

    /**
     * One page of the orders.
     *
     * @throws TypeError for an empty or malformed filter, before anything is sent.
     * @example const { items, lastPage } = await api.orders.list({ paid_on: '2026-01-31', page: 2 });
     */
    async list(params: OrderListParams = {}): Promise<Page<OrderListItem>> {
      return send({ method: 'GET', path, params: listQuery(params) }, readPage(orderListItem));
    },

    /** All pages of the orders, one request each. @throws as `list` does. */
    listAll(params: OrderListAllParams = {}): AsyncGenerator<Page<OrderListItem>, void, undefined> {
      return allPages(path, params.limit ?? 100, (page) => api.list({ ...params, page }));
    },

    /**
     * An order by the shop's code. The spec shows neither method nor path; this uses those of the other resources.
     *
     * @throws NotFoundError
     * @throws MalformedResponseError where the service responds with a list that lacks this order.
     */
    async getByCode(code: string, options: CallOptions = {}): Promise<OrderDetail> {
      const call = { method: 'GET', path, params: { code: requireCode(code) }, ...options } as const;
      const found = await send(call, (response) => byCode(response, code));
      return typeof found === 'number' ? api.get(found, options) : found;
    },

    /**
     * Creates the order, or updates the order with this code. Safe to repeat.
     *
     * @throws RefusedError where the service does not accept a field.
     * @throws MalformedResponseError where the response shows an order of another code.
     * @example await api.orders.upsert({ code: 'A-1', created_at: '2026-01-31T09:00:00+09:00', total_price: '12.50' });
     */
    async upsert(body: OrderBody, options: CallOptions = {}): Promise<OrderDetail> {
      requireCode(body.code);
      return send({ method: 'POST', path, params: checked(body), ...options }, (response) =>
        withCode(parseJson(response), body.code),
      );
    },
  };
  return api;
}

function listQuery({ limit = 100, page = 1, paid_on, usernames }: OrderListParams) {
  if (paid_on !== undefined) requireDay(paid_on, 'paid_on');
  for (const name of usernames ?? []) {
    if (requireCode(name, 'name in usernames').includes(',')) throw new TypeError('expected usernames without commas');
  }
  if (usernames?.length === 0)
    throw new TypeError('expected usernames with names: the service reads an empty list as all');
  return { limit: requireLimit(limit), page: requirePage(page), paid_on, usernames: usernames?.join(',') };
}

function checked<Body extends OrderPatch>(body: Body): Body {
  if (body.code !== undefined) requireCode(body.code);
  if (body.user_grade_id !== undefined && body.user_grade_id !== null) requireId(body.user_grade_id, 'user_grade_id');
  if (body.total_price === undefined) return body;
  return { ...body, total_price: sentAmount(body.total_price, 'total_price') };
}

/** The order, or its id where the service responds with a list. */
function byCode(response: HttpResponse, code: string): OrderDetail | number {
  const body = parseJson(response);
  if (!Array.isArray(body)) return withCode(body, code);
  const item = readShape(list(orderListItem), body, 'a list').find((order) => order.code === code);
  if (item) return item.id;
  throw new ShapeError('expected the order with this code, got a list without it');
}

/** The order, which was requested or written by its code. */
const withCode = (body: unknown, code: string): OrderDetail =>
  withSameCode(readShape(orderDetail, body, 'an order'), code);
