import { type ShopLine, type ShopOrder, sum } from '../shop.ts';
import type { Api, Row } from './api.ts';

/** Asks Vendure's admin API for all orders that were placed. */
export function openOrders(admin: Api): () => Promise<Map<string, ShopOrder>> {
  // Vendure's API gives no price for a line without pieces: the price of the most pieces that it gave before.
  const prices = new Map<string, { pieces: number; price: number }>();
  return async () => {
    const { items } = await admin.call<{ items: Row[] }>(allOrders);
    const customers = await admin.call<{ items: Row[] }>(
      'query { customers(options: { take: 1000 }) { items { id } } }',
    );
    const living = new Set(customers.items.map(({ id }) => id));
    for (const { id, quantity, proratedLinePriceWithTax } of items.flatMap(({ lines }) => lines)) {
      if (quantity > 0 && quantity >= (prices.get(id)?.pieces ?? 0))
        prices.set(id, { pieces: quantity, price: proratedLinePriceWithTax });
    }
    const priceOf = ({ id, quantity, proratedLinePriceWithTax }: Row) =>
      quantity > 0 ? proratedLinePriceWithTax : (prices.get(id)?.price ?? 0);
    return new Map(items.map((order) => [order.code, orderOf(order, living.has(order.customer.id), priceOf)]));
  };
}

const allOrders = `query {
  orders(options: { filter: { orderPlacedAt: { isNull: false } }, take: 1000 }) {
    items {
      code orderPlacedAt totalWithTax
      shippingAddress { phoneNumber }
      customer { id firstName lastName phoneNumber emailAddress user { identifier } groups { id name } }
      payments { amount state refunds { total state } }
      lines {
        id quantity proratedLinePriceWithTax
        productVariant { productId options { name group { name } } }
        fulfillmentLines { quantity fulfillment { id state method trackingCode } }
      }
    }
  }
}`;

/** @param isLiving whether the customer was not deleted. No login and no contact of one who was goes to the service. */
function orderOf(order: Row, isLiving: boolean, priceOf: (line: Row) => number): ShopOrder {
  const { customer } = order;
  const groups: Row[] = customer?.groups ?? [];
  const oldest = groups.toSorted((a, b) => Number(a.id) - Number(b.id))[0];
  return {
    placedAt: order.orderPlacedAt,
    total: totalOf(order) / 100,
    user: isLiving ? customer?.user?.identifier : undefined,
    name: [customer?.firstName, customer?.lastName].filter(Boolean).join(' ') || undefined,
    phone: isLiving ? order.shippingAddress?.phoneNumber || customer?.phoneNumber || undefined : undefined,
    email: isLiving ? customer?.emailAddress : undefined,
    grade: oldest?.name,
    lines: order.lines.map((line: Row) => lineOf(line, priceOf(line))),
  };
}

/** What the customer has paid and not got back, where something was paid back; otherwise what the order costs. */
function totalOf({ totalWithTax, payments }: Row): number {
  const isPaid = ({ state }: Row) => ['Authorized', 'Settled'].includes(state);
  const paid = sum(payments.filter(isPaid).map((one: Row) => one.amount));
  const refunds: Row[] = payments.flatMap((one: Row) => one.refunds);
  const refunded = sum(refunds.filter(({ state }) => state === 'Settled').map(({ total }) => total));
  return refunded > 0 ? Math.max(0, Math.min(totalWithTax, paid - refunded)) : totalWithTax;
}

function lineOf(line: Row, price: number): ShopLine {
  const parcels: Row[] = line.fulfillmentLines
    .map(({ quantity, fulfillment }: Row) => ({ ...fulfillment, quantity }))
    .toSorted((a: Row, b: Row) => Number(a.id) - Number(b.id));
  const gone = parcels.filter(({ state }) => ['Shipped', 'Delivered'].includes(state));
  const pieces = (states: string[]) =>
    sum(parcels.flatMap(({ state, quantity }) => (states.includes(state) ? quantity : [])));
  const arrived = pieces(['Delivered']);
  const hasArrived = arrived > 0 && arrived >= line.quantity;
  const status = () => {
    if (line.quantity === 0) return gone.length > 0 ? 'returned' : 'cancelled';
    if (hasArrived) return 'delivery_finished';
    if (gone.length > 0) return 'delivery_started';
    return pieces(['Created', 'Pending']) > 0 ? 'delivery_preparing' : 'paid';
  };
  return {
    id: line.id,
    product: line.productVariant.productId,
    price: price / 100,
    status: status(),
    hasLeft: gone.length > 0,
    hasArrived,
    invoice: gone.find(({ trackingCode }) => trackingCode)?.trackingCode,
    carrier: gone.find(({ method }) => method)?.method,
    options: Object.fromEntries(line.productVariant.options.map((one: Row) => [one.group.name, one.name])),
  };
}
