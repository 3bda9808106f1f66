import pLimit from 'p-limit';
import type { Shop } from '../../shop/index.ts';
import { isUnchanged, type PushPolicy } from '../order/desired-order.ts';
import { type CreationRange, ordersByCreation } from '../which/orders-by-day.ts';
import { isDifferent, type OrderComparison, withoutPersonalData } from './compare-order.ts';
import { type LookDeps, type OrderLook, openLookup, rememberedOf, type ShopOrder } from './look-at-order.ts';

/**
 * What a backfill would do to one order.
 *
 * - `create`: the service does not have it.
 * - `change`: the comparison shows what would change.
 * - `same`: it would be sent, and nothing that the service shows would change.
 * - `not compared`: the service could not be asked about it.
 * - `dead letter`: its rows cannot be sent.
 */
export type BackfilledOrder = {
  code: string;
  kind: 'create' | 'change' | 'same' | 'not compared' | 'dead letter';
  /** New sub-orders, for `create`. */
  newLines: number;
  reason: string | undefined;
  /** Without the customer's name, e-mail address and phone number. */
  comparison: OrderComparison | undefined;
};

export type BackfillDiff = {
  /** Orders read from the shop. */
  read: number;
  /** Orders that cost no request: unchanged since they were pushed, or deleted in the shop. */
  unchanged: number;
  orders: BackfilledOrder[];
  /** Requests that this comparison sent to the service, all of them GET. */
  requests: number;
  /** True: there may be more orders in the range; `limit` ended the comparison. */
  isCut: boolean;
};

export type DiffDeps = LookDeps & { shop: Shop; signal: AbortSignal; concurrency: number };

/**
 * Compares the orders that a backfill of the range would send with what the service has, until `limit` of them were
 * compared. Sends nothing but GET, at most three requests an order; writes nothing.
 */
export async function diffBackfill(
  deps: DiffDeps,
  range: CreationRange,
  { policy, limit }: { policy: PushPolicy; limit: number },
): Promise<BackfillDiff> {
  const lookup = await openLookup(deps);
  const slots = pLimit(deps.concurrency);
  const diff: BackfillDiff = { read: 0, unchanged: 0, orders: [], requests: 0, isCut: false };
  for await (const raws of ordersByCreation(deps.shop, range)) {
    deps.signal.throwIfAborted();
    diff.read += raws.length;
    const due = (await rememberedOf(deps.db, raws)).filter((one) => !needsNothing(one, policy));
    diff.unchanged += raws.length - due.length;
    const looked = due.slice(0, limit - diff.orders.length);
    const found = looked.map((one) =>
      slots(async () => (one.desired ? lookedOrder(await lookup.look(one, policy.contact)) : deadLetter(one))),
    );
    diff.orders.push(...(await Promise.all(found)));
    if (diff.orders.length >= limit) {
      diff.isCut = true;
      break;
    }
  }
  return { ...diff, requests: lookup.requests };
}

function needsNothing({ desired, link }: ShopOrder, policy: PushPolicy): boolean {
  if (!desired) return false;
  return desired.prepared.order.deletedAt !== undefined || isUnchanged(desired, link, policy);
}

function deadLetter({ code, fault }: ShopOrder): BackfilledOrder {
  return { code, kind: 'dead letter', newLines: 0, reason: fault, comparison: undefined };
}

function lookedOrder({ shop, shown, comparison }: OrderLook): BackfilledOrder {
  const { code, desired } = shop;
  const order = { code, newLines: 0, reason: undefined, comparison: comparison && withoutPersonalData(comparison) };
  if (shown.kind === 'failed') return { ...order, kind: 'not compared', reason: shown.reason };
  if (!comparison) return { ...order, kind: 'create', newLines: desired?.prepared.lines.length ?? 0 };
  return { ...order, kind: isDifferent(comparison) ? 'change' : 'same' };
}
