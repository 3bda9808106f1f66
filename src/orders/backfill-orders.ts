import type { Shop } from '../shop/index.ts';
import type { OrderSlice } from '../shop/orders.ts';
import { isoOf, type Second } from '../span.ts';
import type { Db } from '../warehouse/index.ts';
import { orderLinks, productIds, userGradeIds } from '../warehouse/links.ts';
import { type IntentDeps, isUnchanged } from './order-intent.ts';
import { type PreparedOrder, prepareOrder } from './prepare-order.ts';

import { ordersPerStep, productCodesOf } from './sync-orders.ts';

/** From the first second of a day to the first second after one; either may be open. */
export type CreationRange = { start: Second | undefined; end: Second | undefined };

/** Slices of the orders created in the range. */
export function planBackfillOrders(
  shop: Shop,
  range: CreationRange,
): Promise<{ slices: OrderSlice[]; orders: number }> {
  return shop.planOrderSlices({
    axis: 'created',
    after: { at: range.start === undefined ? '-infinity' : isoOf(range.start), code: '' },
    ...(range.end !== undefined && { before: isoOf(range.end) }),
    size: ordersPerStep,
  });
}

export type BackfillForecast = {
  orders: number;
  /** As they stand at the service already: they cost no request. */
  unchanged: number;
  toSend: number;
  /** Upserts and new sub-orders; changes of sub-orders that are there already may come on top. */
  requests: number;
  /** Lines and orders that would become dead letters. */
  faulty: number;
  /** Different customers among the orders to send whose e-mail or phone the shop has. */
  reachable: number;
  /** Whether those would be sent along. */
  withContact: boolean;
};

/** What a backfill would send. Reads everything, sends and writes nothing. */
export async function forecastBackfill(
  deps: Omit<IntentDeps, 'gradeIds'> & { shop: Shop; db: Db; signal: AbortSignal },
  slices: readonly OrderSlice[],
): Promise<BackfillForecast> {
  const push = { ...deps, gradeIds: await userGradeIds(deps.db) };
  const customers = new Set<string>();
  const withContact = deps.contactPolicy === 'always';
  const forecast = { orders: 0, unchanged: 0, toSend: 0, requests: 0, faulty: 0, reachable: 0, withContact };
  for (const slice of slices) {
    deps.signal.throwIfAborted();
    const raws = await deps.shop.orderSlice(slice);
    const products = await productIds(deps.db, productCodesOf(raws));
    const prepared = raws.map((raw) => prepareOrder(raw, products));
    const sound = prepared.filter((one): one is PreparedOrder => 'order' in one);
    const codes = sound.map((one) => one.order.code);
    const links = await orderLinks(deps.db, codes);
    forecast.orders += raws.length;
    forecast.faulty += prepared.length - sound.length;
    for (const one of sound) {
      const link = links.get(one.order.code);
      forecast.faulty += one.held.length;
      if (one.order.deletedAt || isUnchanged(push, one, link)) {
        forecast.unchanged += 1;
        continue;
      }
      forecast.toSend += 1;
      forecast.requests += 1 + (link ? 0 : one.lines.length);
      const customer = one.order.userEmail ?? one.order.userPhone;
      if (customer !== undefined) customers.add(customer);
    }
  }
  return { ...forecast, reachable: customers.size };
}
