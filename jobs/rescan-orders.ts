import type { App } from '../src/app/app.ts';
import { orderDeps } from '../src/app/deps.ts';
import { requireSameShop } from '../src/app/require-same-shop.ts';
import { pushRights } from '../src/app/run-rights.ts';
import { isoOf } from '../src/base/time/span.ts';
import { settleVanished } from '../src/orders/push/vanished-orders.ts';
import { type WalkState, walkOrders } from '../src/orders/select/orders-by-day.ts';
import { defineRun } from '../src/runs/define-run.ts';
import { readCursor } from '../src/warehouse/runs/cursors.ts';
import { runOfOrders } from './flows.ts';
import { stepsOf } from './push-orders.ts';

/** `start`: the oldest creation that the rescan reads, in seconds since 1970; undefined: it reads no orders. */
type State = WalkState & { start?: number };

const daySeconds = 86_400;

/**
 * Scheduled with the reconcile: reads the orders of the last ORDER_RESCAN_DAYS again by day of creation (UTC), for
 * changes that were missed and orders that are gone. It does nothing before the first `sync orders` has ended: nothing
 * was missed yet, and if orders are not synced on purpose, no rescan may push them. If a step has failed, no absent
 * order is deleted: most of a slice may be gone, or be other orders, because the shop has changed.
 */
export const rescanOrders = defineRun({
  name: 'rescan-orders',
  schedule: 'reconcile',
  ...runOfOrders,
  trigger: 'rescan',
  priority: 20,
  async plan(app) {
    const { shop, warehouse, config } = app;
    if ((await readCursor(warehouse.db, 'orders')) === undefined) return { steps: [], state: {} };
    if (config.orderRescanDays === 0) return { steps: [], state: {} };
    const today = Math.floor(Date.parse(await shop.now()) / 1000 / daySeconds) * daySeconds;
    return walk(app, { start: today - config.orderRescanDays * daySeconds });
  },
  async next(app, _run, state: State) {
    return state.next === undefined ? undefined : walk(app, state);
  },
  async complete(app, { state: { start }, run, signal }) {
    if (start === undefined) return { counts: {} };
    // Check before anything is deleted: during the run, another shop may have taken the place of this one.
    await requireSameShop({ shop: app.shop, db: app.warehouse.db });
    return settleVanished(orderDeps(app, signal), isoOf(start), pushRights(app.config, run.rights));
  },
});

async function walk({ shop, warehouse: { db }, config }: App, state: State) {
  const range = { start: state.start, end: undefined };
  return stepsOf(await walkOrders({ shop, db }, range, config.orderBatchSize, state));
}
