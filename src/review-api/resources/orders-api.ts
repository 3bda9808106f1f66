import * as v from 'valibot';
import { type Send, withPrivate } from '../http/call.ts';
import type { ReviewApiOptions } from '../http/options.ts';
import * as s from '../http/shape.ts';
import { listOperations, operationsByCode, requireCode, sentAmount } from './resource.ts';

const path = '/v1/orders';

const subOrder = s.record({
  id: s.integer,
  /** Null if the service has deleted the product. */
  product_id: s.idIfAny,
  product_options: v.exactOptional(v.fallback(v.union([s.options, v.undefined()]), undefined)),
  price: s.moneyOrNull,
  /** An open set (docs/service-facts.md): unknown values pass through. */
  status: s.shownText,
  delivery_started_at: s.shownText,
  delivered_at: s.shownText,
  invoice: s.shownText,
  delivery_service: s.shownText,
  created_at: s.shownText,
  updated_at: s.shownText,
  /** Null if the response lacks the field: it may not be 0. */
  reviews_count: s.integerIfAny,
});

/** A sub-order in the detail of an order. If a text or the options are absent, their value is unknown. */
export type SubOrder = v.InferOutput<typeof subOrder>;

const orderDetail = s.record({
  id: s.integer,
  code: s.text,
  user_code: s.shownText,
  user_email: s.shownText,
  username: s.shownText,
  phone: s.shownText,
  total_price: s.moneyOrNull,
  sub_orders: s.list(subOrder),
  created_at: s.shownText,
  updated_at: s.shownText,
});

/** The detail of an order, also returned when it is created (docs/interface.md, "Order"). Other fields are kept. */
export type OrderDetail = v.InferOutput<typeof orderDetail>;

const orderListItem = s.record({
  id: s.integer,
  code: s.text,
  total_price: s.moneyOrNull,
  user_code: s.textOrNull,
  user_email: s.textOrNull,
  username: s.textOrNull,
  paid_at: s.textOrNull,
  updated_at: s.textOrNull,
  sub_orders: s.list(
    s.record({ id: s.integer, product_id: s.idIfAny, product_code: s.textOrNull, status: s.textOrNull }),
  ),
});

/** An order in a list. */
export type OrderListItem = v.InferOutput<typeof orderListItem>;

/** Body of `POST /v1/orders`. Dates are ISO 8601. `null` clears the field; a field that is left out stays unchanged. */
export type OrderBody = {
  /** The shop's order number. */
  code: string;
  created_at: string;
  /** Amount actually paid, as decimal text in whole units of the currency: "12.50". */
  total_price: string;
  /** The buyer's account in the shop. If an order is created without it, the buyer is no member. */
  user_code?: string | null | undefined;
  /** Returned as `username`. */
  user_name?: string | null | undefined;
  /** Returned as `phone`. */
  user_phone?: string | null | undefined;
  /** When absent no review e-mail is sent. */
  user_email?: string | null | undefined;
  user_grade_id?: number | null | undefined;
  /** The store of an offline order. */
  store_name?: string | null | undefined;
  order_device?: 'pc' | 'mobile' | null | undefined;
  /** Points used. */
  mileage?: number | null | undefined;
};

/** Fields to change. A field that is left out stays unchanged. */
export type OrderPatch = { [Field in keyof OrderBody]?: OrderBody[Field] | undefined };

/** What to list (docs/interface.md, "Orders"). */
export type OrderFilters = {
  /** The day of payment, `yyyy-mm-dd` in the service's zone. */
  paid_on?: string | undefined;
  /** Only the orders of these accounts; a name cannot hold a comma. */
  usernames?: readonly string[] | undefined;
};

const privateParams = ['user_code', 'user_name', 'user_phone', 'user_email', 'usernames', 'store_name'];

/** Orders (docs/interface.md, "Orders"). Their details hold the sub-orders. */
export function ordersApi(anySend: Send, onRecords?: ReviewApiOptions['onRecords']) {
  const send = withPrivate(anySend, privateParams);
  const onBody = (body: unknown) => {
    onRecords?.('order', [body]);
    onRecords?.('sub_order', (body as { sub_orders: unknown[] }).sub_orders);
  };
  const resource = { path, shape: orderDetail, params, onBody };
  return {
    ...operationsByCode<OrderDetail, OrderPatch, OrderBody>(send, resource),
    ...listOperations<OrderListItem, OrderFilters>(send, { path, shape: orderListItem }, filters),
  };
}

function filters({ paid_on, usernames }: OrderFilters) {
  if (paid_on !== undefined) requireCode(paid_on, 'paid_on');
  // The service reads an empty list as "all", and a comma as the end of a name.
  const isMisread = (name: string) => name.trim() === '' || name.includes(',');
  if (usernames !== undefined && (usernames.length === 0 || usernames.some(isMisread)))
    throw new TypeError('expected usernames as a list of names without commas');
  return { paid_on, usernames: usernames?.join(',') };
}

const params = ({ total_price, ...fields }: OrderPatch) => ({
  ...fields,
  total_price: total_price === undefined ? undefined : sentAmount(total_price, 'total_price'),
});
