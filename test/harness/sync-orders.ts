import type { App } from '../../src/app/app.ts';
import { orderDeps as depsOf } from '../../src/app/deps.ts';
import { ownPushRights } from '../../src/app/run-rights.ts';
import { addCounts, type Counts } from '../../src/base/counts.ts';
import type { PushRights } from '../../src/orders/contact-rule.ts';
import type { OrderDeps } from '../../src/orders/order-deps.ts';
import { pushOrders } from '../../src/orders/push/push-orders.ts';
import { concludeChangedOrders, nextChangedOrders, planChangedOrders } from '../../src/orders/select/changed-orders.ts';
import type { OrderLink } from '../../src/warehouse/orders/order-links.ts';

export type SyncRun = Partial<OrderDeps> & Partial<PushRights>;

/** One incremental run of orders in this process, without the queue. */
export const syncOrdersOnce = (app: App, run: SyncRun = {}, lookbackMinutes = 10): Promise<Counts> =>
  pushChanged(orderDeps(app, run), rightsOf(app, run), lookbackMinutes);

/** The same without an app. */
export async function pushChanged(deps: OrderDeps, rights: PushRights, lookbackMinutes: number): Promise<Counts> {
  const options = { lookbackMinutes, batchSize: 50_000, isAnyTime: rights.allowRemovals };
  const counts: Counts[] = [];
  let batch = await planChangedOrders(deps, options);
  for (;;) {
    counts.push(await pushOrders(deps, batch.codes, rights));
    const next = await nextChangedOrders(deps, batch.state, options);
    if (next === undefined) break;
    batch = next;
  }
  await concludeChangedOrders(deps, batch.state);
  return addCounts(counts);
}

/** The rights of a run by the defaults, for a test without an app. */
export const usualRights: PushRights = {
  trigger: 'sync',
  allowRemovals: false,
  contactMaxAgeDays: 30,
  deletes: 'off',
  createdIn: { start: undefined, end: undefined },
};

/** What is remembered of the order A, which the service accepted as 1. */
export const orderLink = (more: Partial<OrderLink> = {}): OrderLink => ({
  orderCode: 'A',
  orderId: 1,
  orderedAt: null,
  fingerprint: null,
  contact: 'allowed',
  sentFields: [],
  failedPushes: 0,
  dueAt: null,
  isDue: false,
  pushedAt: null,
  ...more,
});

/** The rights of a push of this process, unless the test says otherwise. */
export const rightsOf = (app: App, given: Partial<PushRights> = {}): PushRights => ({
  ...ownPushRights(app.config, given.trigger ?? 'sync'),
  ...given,
});

/** What a push of this process needs, with short waits. */
export const orderDeps = (app: App, more: Partial<OrderDeps> = {}): OrderDeps => ({
  ...depsOf(app, new AbortController().signal),
  limits: { giveUpAfterMs: 50, settleMs: 1 },
  ...more,
});
