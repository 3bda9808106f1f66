import { asArray, asInteger, asIntegerOrNull, asObject, asText, asTextOrNull, textsOf } from '../http/response-body.ts';

/** An amount. Whether `cents` are hundredths or whole units depends on the currency (docs/service-facts.md). */
export type MoneyAmount = { cents: number; currency_iso: string };

/** A money object, or null where there is none. */
export function asMoneyOrNull(value: unknown, what: string): MoneyAmount | null {
  if (value === null || value === undefined) return null;
  const money = asObject(value, what);
  return {
    cents: asInteger(money.cents, `${what}.cents`),
    currency_iso: asText(money.currency_iso, `${what}.currency_iso`),
  };
}

/** Option name to option value. Services send `[]` where there are no options. */
export function asOptions(value: unknown, what: string): Record<string, string> {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return {};
  const options = Object.entries(asObject(value, what));
  return Object.fromEntries(options.map(([key, option]) => [key, asTextOrNull(option, `${what}.${key}`) ?? '']));
}

/**
 * A sub-order in the detail of an order. A text or the options are absent where the response lacks the field: then
 * nobody knows what the service has. `reviews_count` is null there: it may not be 0.
 */
export type SubOrder = {
  id: number;
  product_id: number;
  product_options?: Record<string, string>;
  price: MoneyAmount | null;
  /** An open set (docs/service-facts.md): pass unknown ones through. */
  status?: string | null;
  delivery_started_at?: string | null;
  delivered_at?: string | null;
  invoice?: string | null;
  delivery_service?: string | null;
  created_at?: string | null;
  updated_at?: string | null;
  reviews_count: number | null;
};

/**
 * The detail of an order, also returned when it is created. A text is absent where the response lacks the field. Fields
 * beyond these are kept unchanged.
 */
export type OrderDetail = {
  id: number;
  code: string;
  user_code?: string | null;
  user_email?: string | null;
  username?: string | null;
  phone?: string | null;
  total_price: MoneyAmount | null;
  sub_orders: SubOrder[];
  created_at?: string | null;
  updated_at?: string | null;
};

/** An order in a list. */
export type OrderListItem = {
  id: number;
  code: string;
  total_price: MoneyAmount | null;
  user_code: string | null;
  user_email: string | null;
  username: string | null;
  paid_at: string | null;
  updated_at: string | null;
  sub_orders: { id: number; product_id: number | null; product_code: string | null; status: string | null }[];
};

export function asOrderDetail(value: unknown): OrderDetail {
  const order = asObject(value, 'an order');
  return {
    ...order,
    id: asInteger(order.id, 'id'),
    code: asText(order.code, 'code'),
    ...shownTextsOf(order, ['user_code', 'user_email', 'username', 'phone', 'created_at', 'updated_at']),
    total_price: asMoneyOrNull(order.total_price, 'total_price'),
    sub_orders: asArray(order.sub_orders, 'sub_orders').map(asSubOrder),
  };
}

export function asOrderListItem(value: unknown): OrderListItem {
  const order = asObject(value, 'an order');
  return {
    ...order,
    id: asInteger(order.id, 'id'),
    code: asText(order.code, 'code'),
    ...textsOf(order, ['user_code', 'user_email', 'username', 'paid_at', 'updated_at']),
    total_price: asMoneyOrNull(order.total_price, 'total_price'),
    sub_orders: asArray(order.sub_orders, 'sub_orders').map((item) => {
      const subOrder = asObject(item, 'a sub-order');
      return {
        ...subOrder,
        id: asInteger(subOrder.id, 'sub_orders.id'),
        product_id: asIntegerOrNull(subOrder.product_id, 'sub_orders.product_id'),
        ...textsOf(subOrder, ['product_code', 'status']),
      };
    }),
  };
}

function asSubOrder(value: unknown): SubOrder {
  const subOrder = asObject(value, 'a sub-order');
  return {
    ...subOrder,
    id: asInteger(subOrder.id, 'sub_orders.id'),
    product_id: asInteger(subOrder.product_id, 'sub_orders.product_id'),
    ...('product_options' in subOrder && {
      product_options: asOptions(subOrder.product_options, 'sub_orders.product_options'),
    }),
    price: asMoneyOrNull(subOrder.price, 'sub_orders.price'),
    ...shownTextsOf(subOrder, ['status', 'delivery_started_at', 'delivered_at', 'invoice', 'delivery_service']),
    ...shownTextsOf(subOrder, ['created_at', 'updated_at']),
    reviews_count: asIntegerOrNull(subOrder.reviews_count, 'sub_orders.reviews_count'),
  };
}

/** The named fields as text or null. A field that the response lacks stays absent. */
function shownTextsOf<Name extends string>(
  object: Record<string, unknown>,
  names: readonly Name[],
): Partial<Record<Name, string | null>> {
  return textsOf(
    object,
    names.filter((name) => object[name] !== undefined),
  );
}
