import type { InferOutput } from 'valibot';
import * as v from 'valibot';
import { type Send, withPrivate } from '../http/call.ts';
import type { ReviewApiOptions } from '../http/options.ts';
import {
  idIfAny,
  integer,
  integerIfAny,
  list,
  moneyOrNull,
  options,
  record,
  shownText,
  text,
  textOrNull,
} from '../http/shape.ts';
import { listOperations, operationsByCode, operationsById, requireCode, sentAmount } from './resource.ts';

const path = '/v1/orders';

const subOrder = record({
  id: integer,
  /** Null if the service has deleted the product. */
  product_id: idIfAny,
  product_options: v.exactOptional(v.fallback(v.union([options, v.undefined()]), undefined)),
  price: moneyOrNull,
  /** An open set (docs/service-facts.md): pass unknown ones through. */
  status: shownText,
  delivery_started_at: shownText,
  delivered_at: shownText,
  invoice: shownText,
  delivery_service: shownText,
  created_at: shownText,
  updated_at: shownText,
  /** Null if the response lacks the field: it may not be 0. */
  reviews_count: integerIfAny,
});

/**
 * A sub-order in the detail of an order. A text or the options are absent if the response lacks the field: then
 * nobody knows what the service has.
 */
export type SubOrder = InferOutput<typeof subOrder>;

const orderDetail = record({
  id: integer,
  code: text,
  user_code: shownText,
  user_email: shownText,
  username: shownText,
  phone: shownText,
  total_price: moneyOrNull,
  sub_orders: list(subOrder),
  created_at: shownText,
  updated_at: shownText,
});

/**
 * The detail of an order, also returned when it is created (docs/interface.md, "Order"). A text is absent if the
 * response lacks the field. Fields beyond these are kept unchanged.
 */
export type OrderDetail = InferOutput<typeof orderDetail>;

const orderListItem = record({
  id: integer,
  code: text,
  total_price: moneyOrNull,
  user_code: textOrNull,
  user_email: textOrNull,
  username: textOrNull,
  paid_at: textOrNull,
  updated_at: textOrNull,
  sub_orders: list(record({ id: integer, product_id: idIfAny, product_code: textOrNull, status: textOrNull })),
});

/** An order in a list. */
export type OrderListItem = InferOutput<typeof orderListItem>;

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
  /** The buyer's account in the shop; without it, the buyer is no member. */
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
  const resource = { path, what: 'an order', shape: orderDetail, params, onBody };
  return {
    ...operationsById(send, resource),
    ...operationsByCode<OrderDetail, OrderPatch, OrderBody>(send, resource),
    ...listOperations<OrderListItem, OrderFilters>(send, { path, shape: orderListItem }, filters),
  };
}

function filters({ paid_on, usernames }: OrderFilters) {
  if (paid_on !== undefined) requireCode(paid_on, 'paid_on');
  // The service reads an empty list as all, and a comma as the end of a name.
  const isMisread = (name: string) => name.trim() === '' || name.includes(',');
  if (usernames !== undefined && (usernames.length === 0 || usernames.some(isMisread)))
    throw new TypeError('expected usernames as a list of names without commas');
  return { paid_on, usernames: usernames?.join(',') };
}

const params = ({ total_price, ...fields }: OrderPatch) => ({
  ...fields,
  total_price: total_price === undefined ? undefined : sentAmount(total_price, 'total_price'),
});
