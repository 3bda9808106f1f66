import type { App } from '../src/app/app.ts';
import { orderDeps } from '../src/app/deps.ts';
import { isoOf } from '../src/base/time/span.ts';
import { settleVanished } from '../src/orders/push/vanished-orders.ts';
import { type WalkState, walkOrders } from '../src/orders/which/orders-by-day.ts';
import { readCursor } from '../src/warehouse/runs/cursors.ts';
import { runOfOrders } from './conclusions.ts';
import { defineRun } from './define-run.ts';
import { parsePayload, type Removals, removals, settingsOf } from './payload.ts';
import { stepsUnder } from './push-orders.ts';

/** `start`: the oldest creation that the rescan reads, in seconds since 1970; undefined: it reads no orders. */
type State = WalkState & { start?: number };

const daySeconds = 86_400;

/**
 * Scheduled with the reconcile: reads the orders of the last ORDER_RESCAN_DAYS again by day of creation (UTC), for
 * changes that were missed and orders that are gone. Not before the first `sync orders` has ended: nothing was missed
 * yet, and where orders are not synced on purpose, no rescan may push them.
 */
export const rescanOrders = defineRun({
  name: 'rescan-orders',
  schedule: 'reconcile',
  ...runOfOrders,
  priority: 20,
  completesAlways: true,
  parse: (payload) => parsePayload(removals, payload),
  async plan(app, payload) {
    const { shop, warehouse, config } = app;
    if ((await readCursor(warehouse.db, 'orders')) === undefined) return { steps: [], state: {} };
    if (config.orderRescanDays === 0) return { steps: [], state: {} };
    const today = Math.floor(Date.parse(await shop.now()) / 1000 / daySeconds) * daySeconds;
    return walk(app, payload, { start: today - config.orderRescanDays * daySeconds });
  },
  async next(app, payload, state: State) {
    return state.next === undefined ? undefined : walk(app, payload, state);
  },
  async complete(app, { state: { start }, payload, signal }) {
    if (start === undefined) return { counts: {} };
    return settleVanished({ ...orderDeps(app, signal), ...payload.settings }, isoOf(start), payload.allowRemovals);
  },
});

async function walk(app: App, { allowRemovals, settings = settingsOf(app) }: Removals, { start, next }: State) {
  const { shop, warehouse, config } = app;
  const policy = { contact: 'young', allowRemovals, settings } as const;
  const range = { start, end: undefined };
  const batch = await walkOrders({ shop, db: warehouse.db }, range, config.orderBatchSize, next ? { next } : {});
  return stepsUnder(policy, { ...batch, state: { ...batch.state, ...(start !== undefined && { start }) } as State });
}
