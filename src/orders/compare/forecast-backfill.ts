import { NotFoundError, type ReviewApi } from '../../review-api/index.ts';
import type { Shop } from '../../shop/index.ts';
import type { Db } from '../../warehouse/index.ts';
import { isUnchanged, type PushPolicy } from '../order/desired-order.ts';
import { diffSubOrders } from '../order/diff-sub-orders.ts';
import type { PreparedOrder } from '../order/prepare-order.ts';
import { readDesiredOrders, readLinksOf } from '../order/read-desired-orders.ts';
import { type CreationRange, ordersByCreation } from '../which/orders-by-day.ts';

export type BackfillForecast = {
  orders: number;
  /** As they stand at the service already, or deleted in the shop: they cost no request. */
  unchanged: number;
  toSend: number;
  /** Upserts and new sub-orders; changes of sub-orders that are there already may come on top. */
  requests: number;
  /** Orders and lines that would become dead letters: how many, and by reason. */
  faulty: number;
  faults: { reason: string; count: number; example: string }[];
  /** Lines that would wait until the service is known to have their product. */
  waitingLines: number;
  /** Different customers among the orders to send whose e-mail or phone the shop has. */
  reachable: number;
  /** Whether those would be sent along. */
  withContact: boolean;
  /** What the service has already of the first orders that review-sync never pushed. */
  takeover: Takeover;
};

export type Takeover = {
  /** Orders that were looked up at the service, and how many of them it has. */
  asked: number;
  found: number;
  /** Sub-orders that the service has for the found orders. */
  subOrders: number;
  /** Lines of the found orders that would take over one of those, and that would get a new one. */
  matched: number;
  created: number;
};

/** Orders never pushed that the dry run looks up at the service: another integration may have sent them. */
const lookedUpAtMost = 20;

export type ForecastDeps = {
  api: Pick<ReviewApi, 'orders'>;
  shop: Shop;
  db: Db;
  signal: AbortSignal;
};

/** What a backfill would send. Reads everything, and 20 orders of the service; writes nothing. */
export async function forecastBackfill(
  deps: ForecastDeps,
  range: CreationRange,
  policy: PushPolicy,
): Promise<BackfillForecast> {
  const customers = new Set<string>();
  const faults = new Map<string, { reason: string; count: number; example: string }>();
  const fault = (reason: string, example: string) => {
    const known = faults.get(reason) ?? { reason, count: 0, example };
    faults.set(reason, { ...known, count: known.count + 1 });
  };
  const sums = { orders: 0, unchanged: 0, toSend: 0, requests: 0, waitingLines: 0 };
  const neverPushed: PreparedOrder[] = [];
  for await (const raws of ordersByCreation(deps.shop, range)) {
    deps.signal.throwIfAborted();
    const { orders, deadLetters } = await readDesiredOrders(deps.db, raws);
    const links = await readLinksOf(deps.db, orders);
    sums.orders += raws.length;
    for (const { reason, key } of deadLetters) fault(reason, key);
    for (const desired of orders) {
      const one = desired.prepared;
      const link = links.get(one.order.code);
      for (const { reason, key } of one.faulty) fault(reason, key);
      sums.waitingLines += one.waiting.length;
      if (one.order.deletedAt || isUnchanged(desired, link, policy)) {
        sums.unchanged += 1;
        continue;
      }
      sums.toSend += 1;
      sums.requests += 1 + (link ? 0 : one.lines.length);
      if (!link && neverPushed.length < lookedUpAtMost) neverPushed.push(one);
      const customer = one.order.userEmail ?? one.order.userPhone;
      if (customer !== undefined) customers.add(customer);
    }
  }
  return {
    ...sums,
    faulty: [...faults.values()].reduce((sum, one) => sum + one.count, 0),
    faults: [...faults.values()].sort((a, b) => b.count - a.count),
    reachable: customers.size,
    withContact: policy.contact === 'always',
    takeover: await lookUp(deps, neverPushed),
  };
}

async function lookUp({ api, signal }: ForecastDeps, orders: readonly PreparedOrder[]): Promise<Takeover> {
  const takeover: Takeover = { asked: 0, found: 0, subOrders: 0, matched: 0, created: 0 };
  for (const { order, lines } of orders) {
    signal.throwIfAborted();
    takeover.asked += 1;
    const detail = await api.orders.getByCode(order.code).catch((error) => {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
    if (!detail) continue;
    const { create } = diffSubOrders(detail.sub_orders, lines, []);
    takeover.found += 1;
    takeover.subOrders += detail.sub_orders.length;
    takeover.created += create.length;
    takeover.matched += lines.length - create.length;
  }
  return takeover;
}
