import type { CallOptions, HttpResponse, Send } from '../http/call.ts';
import { asObject, ignoreBody, parseJson, requireSameCode, ShapeError, withSameId } from '../http/response-body.ts';
import { requireCode, requireDay, requireId, requireLimit, requirePage, sentAmount } from './check.ts';
import { asOrderDetail, asOrderListItem, type OrderDetail, type OrderListItem } from './order-shapes.ts';
import { allPages, type Page, readPage } from './pages.ts';

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
  const api = {
    /** One page of the orders. @throws TypeError for an empty or malformed filter. */
    async list(params: OrderListParams = {}): Promise<Page<OrderListItem>> {
      return send({ method: 'GET', path, params: listQuery(params) }, readPage(asOrderListItem));
    },

    /** All pages of the orders, one request each. @throws as `list` does. */
    listAll(params: OrderListAllParams = {}): AsyncGenerator<Page<OrderListItem>, void, undefined> {
      return allPages(path, params.limit ?? 100, (page) => api.list({ ...params, page }));
    },

    /** An order by the service's id. @throws NotFoundError */
    async get(id: number, { giveUpAfterMs }: CallOptions = {}): Promise<OrderDetail> {
      return send({ method: 'GET', path: `${path}/${requireId(id)}`, giveUpAfterMs }, (response) =>
        withSameId(asOrderDetail(parseJson(response)), id),
      );
    },

    /**
     * An order by the shop's code. The spec shows neither method nor path; this uses those of the other resources.
     *
     * @throws NotFoundError
     * @throws MalformedResponseError where the service responds with a list that lacks this order.
     */
    async getByCode(code: string, { giveUpAfterMs }: CallOptions = {}): Promise<OrderDetail> {
      const params = { code: requireCode(code) };
      const found = await send({ method: 'GET', path, params, giveUpAfterMs }, (response) => byCode(response, code));
      return typeof found === 'number' ? api.get(found, { giveUpAfterMs }) : found;
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

    /** Changes these fields, the code included. @throws NotFoundError */
    async update(id: number, patch: OrderPatch, { giveUpAfterMs }: CallOptions = {}): Promise<void> {
      return send(
        { method: 'PATCH', path: `${path}/${requireId(id)}`, params: checked(patch), giveUpAfterMs },
        ignoreBody,
      );
    },

    /** Changes these fields of the order with this code. @throws NotFoundError */
    async updateByCode(
      code: string,
      patch: Omit<OrderPatch, 'code'>,
      { giveUpAfterMs }: CallOptions = {},
    ): Promise<void> {
      const params = { ...checked(patch), code: requireCode(code) };
      return send({ method: 'PATCH', path, params, giveUpAfterMs }, ignoreBody);
    },

    /**
     * As `update`, by PUT. The fields are part of the address, which proxies may log: send no customer's data this way.
     */
    async put(id: number, patch: OrderPatch): Promise<void> {
      return send({ method: 'PUT', path: `${path}/${requireId(id)}`, params: checked(patch) }, ignoreBody);
    },

    /**
     * Deletes the order for good, with its sub-orders, reviews and send records. An order that does not exist is a
     * success.
     */
    async remove(id: number, options: CallOptions = {}): Promise<void> {
      return send(
        { method: 'DELETE', path: `${path}/${requireId(id)}`, notFoundIsSuccess: true, ...options },
        ignoreBody,
      );
    },

    /** As `remove`. */
    async removeByCode(code: string, { giveUpAfterMs }: CallOptions = {}): Promise<void> {
      const params = { code: requireCode(code) };
      return send({ method: 'DELETE', path, params, notFoundIsSuccess: true, giveUpAfterMs }, ignoreBody);
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
  if (Array.isArray(body)) {
    const item = body.map(asOrderListItem).find((order) => order.code === code);
    if (item) return item.id;
    throw new ShapeError('expected the order with this code, got a list without it');
  }
  return withCode(body, code);
}

/** The order, which was requested or written by its code. */
function withCode(body: unknown, code: string): OrderDetail {
  requireSameCode(asObject(body, 'an order').code, code);
  return asOrderDetail(body);
}
