import type { OrderBody, SubOrderBody } from '../review-api/index.ts';
import type { Order, OrderLine } from '../shop/rows.ts';

/** The body of `POST /v1/orders` (spec, "Create or update an order"): all fields that the shop has. */
export function orderBody(order: Order, options: { withContact: boolean; userGradeId: number | undefined }): OrderBody {
  const contact = options.withContact ? { user_email: order.userEmail, user_phone: order.userPhone } : {};
  return compact({
    code: order.code,
    created_at: toTheSecond(order.createdAt),
    total_price: order.totalPrice,
    user_code: order.userCode,
    user_name: order.userName,
    ...contact,
    user_grade_id: options.userGradeId,
    store_name: order.storeName,
    order_device: order.orderDevice,
    mileage: order.mileage,
  });
}

/** The body of a sub-order (spec, "Sub-orders"); also what is remembered of it as last pushed. */
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
  });
}

export type SubOrderContent = SubOrderBody & { product_options: Readonly<Record<string, string>> };

/** ISO 8601 with a numeric offset and no milliseconds: "significant only to the second" (spec, conventions). */
function toTheSecond(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, '+00:00');
}

/** Absent fields are left out, so that two bodies that say the same are equal as JSON. */
function compact<T extends object>(body: T): T {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as T;
}
