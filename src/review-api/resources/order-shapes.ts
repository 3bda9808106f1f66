import type { InferOutput } from 'valibot';
import * as v from 'valibot';
import {
  integer,
  integerOrNull,
  list,
  moneyOrNull,
  options,
  record,
  shownText,
  text,
  textOrNull,
} from '../http/shape.ts';

const subOrder = record({
  id: integer,
  product_id: integer,
  product_options: v.exactOptional(options),
  price: moneyOrNull,
  /** An open set (docs/service-facts.md): pass unknown ones through. */
  status: shownText,
  delivery_started_at: shownText,
  delivered_at: shownText,
  invoice: shownText,
  delivery_service: shownText,
  created_at: shownText,
  updated_at: shownText,
  /** Null where the response lacks the field: it may not be 0. */
  reviews_count: integerOrNull,
});

/**
 * A sub-order in the detail of an order. A text or the options are absent where the response lacks the field: then
 * nobody knows what the service has.
 */
export type SubOrder = InferOutput<typeof subOrder>;

export const orderDetail = record({
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
 * The detail of an order, also returned when it is created (docs/interface.md, "Order"). A text is absent where the
 * response lacks the field. Fields beyond these are kept unchanged.
 */
export type OrderDetail = InferOutput<typeof orderDetail>;

export const orderListItem = record({
  id: integer,
  code: text,
  total_price: moneyOrNull,
  user_code: textOrNull,
  user_email: textOrNull,
  username: textOrNull,
  paid_at: textOrNull,
  updated_at: textOrNull,
  sub_orders: list(record({ id: integer, product_id: integerOrNull, product_code: textOrNull, status: textOrNull })),
});

/** An order in a list. */
export type OrderListItem = InferOutput<typeof orderListItem>;
