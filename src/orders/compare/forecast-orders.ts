import type { RawOrder } from '../../shop/orders.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { ageClock, mayCarryContact, type PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { whyNothing } from '../plan/desired-order.ts';
import { isDifferent, withoutPersonalData } from '../plan/order-difference.ts';
import { ordersByCreation } from '../select/orders-by-day.ts';
import { type OrderLook, openLookup, type ShopOrder, shopOrders } from './look-at-order.ts';

export type OrdersForecast = {
  orders: number;
  /** As they stand at the service already, or deleted in the shop before they were pushed: they cost no request. */
  unchanged: number;
  toSend: number;
  /** How many of those to send the shop has deleted: at most these are deleted at the service (promise 6). */
  toDelete: number;
  /** Upserts and new sub-orders; changes of sub-orders that are there already may come on top. */
  requests: number;
  /** Orders and lines that would become dead letters: how many, and by reason. */
  faulty: number;
  faults: { reason: string; count: number; example: string }[];
  /** Lines that would wait until the service is known to have their product. */
  waitingLines: number;
  /** Different customers among the orders to send whose e-mail or phone the shop has. */
  reachable: number;
  /** How many of them would go to the service with it (promise 7): the service may mail these. */
  withContact: number;
};

/**
 * What a push of these orders would send. Asks the service nothing, writes nothing.
 *
 * @param pages the orders as the shop shows them, each once.
 */
export async function forecastOrders(
  deps: OrderDeps,
  pages: AsyncIterable<RawOrder[]>,
  rights: PushRights,
): Promise<OrdersForecast> {
  const now = ageClock(deps.now, await warehouseNow(deps.db))();
  const [customers, withContact] = [new Set<string>(), new Set<string>()];
  const faults = new Map<string, { reason: string; count: number; example: string }>();
  const fault = (reason: string, example: string) => {
    const known = faults.get(reason) ?? { reason, count: 0, example };
    faults.set(reason, { ...known, count: known.count + 1 });
  };
  const sums = { orders: 0, unchanged: 0, toSend: 0, toDelete: 0, requests: 0, waitingLines: 0 };
  for await (const raws of pages) {
    deps.signal.throwIfAborted();
    sums.orders += raws.length;
    for (const one of await shopOrders(deps, raws, rights)) {
      const { code, desired, link } = one;
      if (!desired) fault(one.fault ?? '', code);
      for (const { reason, key } of desired?.faulty ?? []) fault(reason, key);
      sums.waitingLines += desired?.waiting.length ?? 0;
      if (needsNothing(one, rights)) sums.unchanged += 1;
      if (!desired || needsNothing(one, rights)) continue;
      const isKnown = link !== undefined && link.contact !== null;
      sums.toSend += 1;
      if (desired.order.deletedAt && rights.deletes === 'send') sums.toDelete += 1;
      sums.requests += 1 + (isKnown ? 0 : desired.lines.length);
      const customer = desired.body.user_email ?? desired.body.user_phone;
      if (!customer) continue;
      customers.add(customer);
      const { createdAt } = desired.order;
      if (mayCarryContact({ decision: link?.contact ?? null, createdAt, now }, rights)) withContact.add(customer);
    }
  }
  return {
    ...sums,
    faulty: [...faults.values()].reduce((sum, one) => sum + one.count, 0),
    faults: [...faults.values()].sort((a, b) => b.count - a.count),
    reachable: customers.size,
    withContact: withContact.size,
  };
}

/**
 * What a backfill would do to one order.
 *
 * - `create`: the service does not have it.
 * - `change`: the difference shows what would change.
 * - `same`: it would be sent, and nothing that the service shows would change.
 * - `not compared`: the service could not be asked about it.
 * - `dead letter`: its rows cannot be sent.
 */
export type BackfilledOrder = {
  code: string;
  kind: 'create' | 'change' | 'same' | 'not compared' | 'dead letter';
  reason: string | undefined;
  /** Without the customer's name, e-mail address and phone number. */
  difference: ReturnType<typeof withoutPersonalData> | undefined;
};

export type BackfillDiff = {
  /** Orders read from the shop. */
  read: number;
  /** Orders that cost no request: unchanged since they were pushed, or deleted in the shop before. */
  unchanged: number;
  orders: BackfilledOrder[];
  /** True: there may be more orders in the range; `limit` ended the comparison. */
  isCut: boolean;
};

/**
 * Compares the orders that a backfill of these rights would send with what the service has, until `limit` of them were
 * compared. Sends nothing but GET, at most three requests an order; writes nothing.
 */
export async function diffBackfill(
  deps: OrderDeps,
  { rights, limit }: { rights: PushRights; limit: number },
): Promise<BackfillDiff> {
  const lookup = await openLookup(deps);
  const diff: BackfillDiff = { read: 0, unchanged: 0, orders: [], isCut: false };
  for await (const raws of ordersByCreation(deps.shop, rights.createdIn)) {
    deps.signal.throwIfAborted();
    diff.read += raws.length;
    const due = (await shopOrders(deps, raws, rights)).filter((one) => !needsNothing(one, rights));
    diff.unchanged += raws.length - due.length;
    const looked = due.slice(0, limit - diff.orders.length).map((one) =>
      deps.slots(async (): Promise<BackfilledOrder> => {
        if (one.desired) return backfilled(await lookup.look(one, rights));
        return { code: one.code, kind: 'dead letter', reason: one.fault, difference: undefined };
      }),
    );
    diff.orders.push(...(await Promise.all(looked)));
    if (diff.orders.length >= limit) {
      diff.isCut = true;
      break;
    }
  }
  return diff;
}

const needsNothing = ({ desired, link }: ShopOrder, rights: PushRights): boolean =>
  desired !== undefined && whyNothing(desired, link, rights) !== undefined;

function backfilled({ code, desired, shown, difference }: OrderLook): BackfilledOrder {
  const order = { code, reason: undefined, difference: difference && withoutPersonalData(difference) };
  if (shown.kind === 'failed') return { ...order, kind: 'not compared', reason: shown.reason };
  if (shown.kind === 'absent' || !difference) return { ...order, kind: desired?.order.deletedAt ? 'same' : 'create' };
  return { ...order, kind: isDifferent(difference) ? 'change' : 'same' };
}
