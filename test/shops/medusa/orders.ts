import { type ShopLine, type ShopOrder, sum } from '../shop.ts';
import type { Api, Row } from './api.ts';

const fields = [
  'id,display_id,created_at,canceled_at,email,customer_id,total',
  '*items,*items.detail,*billing_address,*shipping_address,*summary',
  '*payment_collections.payments,*payment_collections.payments.captures,*payment_collections.payments.refunds',
  '*fulfillments,*fulfillments.items,*fulfillments.labels',
].join(',');

/** Asks Medusa's admin API for all orders. */
export function openOrders(admin: Api): () => Promise<Map<string, ShopOrder>> {
  // Medusa's API takes returned pieces out of the total of a line. The highest total that it gave for as many pieces.
  const totals = new Map<string, number>();
  return async () => {
    const { orders } = await admin.get(`/admin/orders?limit=1000&fields=${fields}`);
    const { customers } = await admin.get('/admin/customers?limit=1000&fields=id,*groups');
    const groups = new Map<string, Row[]>(customers.map((one: Row) => [one.id, one.groups ?? []]));
    const priceOf = ({ id, quantity, total }: Row) => {
      const key = `${id} ${quantity}`;
      totals.set(key, Math.max(Number(total), totals.get(key) ?? 0));
      return cents(totals.get(key) ?? 0);
    };
    const shown = (order: Row) => orderOf(order, groups.get(order.customer_id) ?? [], priceOf);
    return new Map(orders.map((order: Row) => [String(order.display_id), shown(order)]));
  };
}

function orderOf(order: Row, groups: readonly Row[], priceOf: (item: Row) => number): ShopOrder {
  const { billing_address: billing, shipping_address: shipping } = order;
  const name = (address: Row | null) =>
    [address?.first_name, address?.last_name].filter(Boolean).join(' ') || undefined;
  return {
    placedAt: order.created_at,
    total: totalOf(order),
    user: order.customer_id ?? undefined,
    name: name(billing) ?? name(shipping),
    phone: billing?.phone || shipping?.phone || undefined,
    email: order.email || undefined,
    grade: groups[0]?.name,
    lines: order.items
      .filter(({ quantity }: Row) => quantity > 0)
      .map((item: Row) => lineOf(item, priceOf(item), order)),
  };
}

const cents = (amount: number) => Math.round(amount * 100) / 100;

const paymentsOf = (order: Row): Row[] => (order.payment_collections ?? []).flatMap((one: Row) => one.payments ?? []);
const amountOf = (order: Row, what: 'captures' | 'refunds') =>
  sum(paymentsOf(order).flatMap((one) => (one[what] ?? []).map(({ amount }: Row) => Number(amount))));

/** What the order costs; of one that was paid back, at most what was paid and not paid back. */
function totalOf(order: Row): number {
  const [paid, refunded, total] = [
    amountOf(order, 'captures'),
    amountOf(order, 'refunds'),
    Number(order.summary.current_order_total),
  ];
  if (order.canceled_at) return cents(Math.max(0, paid - refunded));
  return cents(refunded > 0 ? Math.max(0, Math.min(total, paid - refunded)) : total);
}

function lineOf(item: Row, price: number, order: Row): ShopLine {
  const { detail } = item;
  const quantity = Number(item.quantity);
  const parcels: Row[] = (order.fulfillments ?? [])
    .filter((one: Row) => !one.canceled_at && one.items.some((part: Row) => part.line_item_id === item.id))
    .toSorted((a: Row, b: Row) => ((a.shipped_at ?? '') < (b.shipped_at ?? '') ? -1 : 1));
  const gone = parcels.filter(({ shipped_at }) => shipped_at);
  const hasArrived = detail.delivered_quantity >= quantity;
  const status = () => {
    if (order.canceled_at) return 'cancelled';
    if (detail.return_received_quantity + detail.return_dismissed_quantity >= quantity) return 'returned';
    if (detail.return_requested_quantity > 0) return 'refund_requested';
    if (hasArrived) return 'delivery_finished';
    if (detail.shipped_quantity > 0 || detail.delivered_quantity > 0) return 'delivery_started';
    if (detail.fulfilled_quantity > 0) return 'delivery_preparing';
    return amountOf(order, 'captures') > 0 ? 'paid' : 'unpaid';
  };
  return {
    id: item.id,
    product: item.product_id,
    price,
    status: status(),
    hasLeft: gone.length > 0,
    hasArrived,
    invoice: gone.flatMap(({ labels }) => labels ?? []).find((one: Row) => one.tracking_number)?.tracking_number,
    carrier: undefined,
    options: item.variant_option_values ?? (item.variant_title ? { Variant: item.variant_title } : {}),
  };
}
