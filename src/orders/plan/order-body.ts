import { type OrderBody, type SubOrderBody, type SubOrderPatch, sentAmount } from '../../review-api/index.ts';
import type { Order, OrderLine } from '../../shop/rows.ts';

/** Fields of `POST /v1/orders` that an order may lack. */
export const optionalFields = [
  'user_code',
  'user_name',
  'user_phone',
  'user_email',
  'user_grade_id',
  'store_name',
  'order_device',
  'mileage',
] as const;
export type OptionalField = (typeof optionalFields)[number];

/**
 * The body of `POST /v1/orders` (docs/interface.md, "Orders"): all fields that the shop has, contact included.
 */
export function orderBody(order: Order, userGradeId: number | undefined): OrderBody {
  return compact({
    code: order.code,
    created_at: toTheSecond(order.createdAt),
    total_price: order.totalPrice,
    user_code: order.userCode,
    user_name: order.userName,
    user_email: order.userEmail,
    user_phone: order.userPhone,
    user_grade_id: userGradeId,
    store_name: order.storeName,
    order_device: order.orderDevice,
    mileage: order.mileage,
  });
}

/** `product_code`: by which the product's id was found. It is remembered, and not sent. */
export type SubOrderContent = SubOrderBody & {
  product_options: Readonly<Record<string, string>>;
  product_code?: string | undefined;
};

/** The body of a sub-order (docs/interface.md, "Sub-orders"); also what is remembered of it as last pushed. */
export function subOrderBody(line: OrderLine, productId: number): SubOrderContent {
  return compact({
    product_id: productId,
    price: line.price,
    status: line.status,
    delivery_started_at: line.deliveryStartedAt && toTheSecond(line.deliveryStartedAt),
    delivered_at: line.deliveredAt && toTheSecond(line.deliveredAt),
    invoice: line.invoice,
    delivery_service: line.deliveryService,
    product_options: line.productOptions,
    product_code: line.productId === undefined ? line.productCode : undefined,
  });
}

/** What is sent of the content of a sub-order. The client shortens amounts when it sends them. */
export function sentOf<Body extends SubOrderPatch>({ product_code: _, ...body }: Body & { product_code?: unknown }) {
  return body.price === undefined ? body : { ...body, price: sentAmount(body.price, 'price') };
}

/** ISO 8601 with a numeric offset and no milliseconds: "significant only to the second" (docs/interface.md). */
function toTheSecond(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, '+00:00');
}

/** Absent fields are left out, so that two bodies that say the same are equal as JSON. */
function compact<T extends object>(body: T): T {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as T;
}
