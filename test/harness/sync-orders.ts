import type { App } from '../../src/app/app.ts';
import { addCounts, type Counts } from '../../src/base/counts.ts';
import type { ContactPolicy } from '../../src/orders/order/contact-rule.ts';
import { pushStep, type SliceDeps } from '../../src/orders/push/push-slice.ts';
import { concludeSyncOrders, continueSyncOrders, planSyncOrders } from '../../src/orders/which/changed-orders.ts';
import { planRescan } from '../../src/orders/which/plan-rescan.ts';
import { rescanSpan } from '../../src/orders/which/rescan.ts';

export type SyncRun = Partial<SliceDeps> & { removals?: 'usual' | 'all'; contact?: ContactPolicy };

/** One incremental run of orders in this process, without the queue. */
export async function syncOrdersOnce(app: App, run: SyncRun = {}): Promise<Counts> {
  const { removals = 'usual', contact, ...more } = run;
  const deps = sliceDeps(app, more);
  const plan = { lookbackMinutes: 100_000, batchSize: 50_000, removals };
  const counts: Counts[] = [];
  let batch = await planSyncOrders(deps, plan);
  for (;;) {
    for (const step of batch.steps) counts.push(await pushStep(deps, { ...step, contact: contact ?? step.contact }));
    const next = await continueSyncOrders(deps, batch.state, { failed: false, isLost: false }, plan);
    if (next === undefined) break;
    batch = next;
  }
  await concludeSyncOrders(deps.db, batch.state);
  return addCounts(counts);
}

/** Reads the orders created in the last `days` days again, in this process, without the queue. */
export async function rescanOrdersOnce(app: App, days: number): Promise<Counts> {
  const deps = { ...sliceDeps(app), runId: 'rescan', removals: 'usual' as const, lookbackMinutes: 0 };
  const { steps } = await planRescan(deps, days);
  const counts: Counts[] = [];
  for (const step of steps)
    if (step.kind === 'created') counts.push(await rescanSpan(deps, { start: step.start, end: step.end }));
  return addCounts(counts);
}

/** What a push of this process needs, with short waits. */
export function sliceDeps(
  { api, shop, warehouse, orderStore, orderSlots, log, now, config }: App,
  more: Partial<SliceDeps> = {},
) {
  return {
    api,
    shop,
    log,
    now,
    db: warehouse.db,
    store: orderStore,
    slots: orderSlots,
    signal: new AbortController().signal,
    contactMaxAgeDays: config.orderContactMaxAgeDays,
    deletes: config.orderDeletes,
    settleMs: 1,
    retryBudget: { beforeCheckMs: 50, afterCheckMs: 20, pauseMs: 1, totalMs: 500, totalAfterFailedPushMs: 50 },
    ...more,
  } satisfies SliceDeps;
}
