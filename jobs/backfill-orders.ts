import * as v from 'valibot';
import type { App } from '../src/app/app.ts';
import { spanOfDays } from '../src/base/time/day-range.ts';
import type { PushPolicy } from '../src/orders/order/desired-order.ts';
import { type WalkState, walkOrders } from '../src/orders/which/orders-by-day.ts';
import { waitingCounts } from '../src/warehouse/orders/due-orders.ts';
import { runOfOrders } from './conclusions.ts';
import { defineRun } from './define-run.ts';
import { days, flag, parsePayload, settings, settingsOf } from './payload.ts';
import { stepsUnder } from './push-orders.ts';

const shape = v.object({
  ...days,
  /** Whether customers' e-mail and phone go along (promise 7: only when asked for). */
  withEmail: flag,
  /** Remove lines and orders beyond the day's allowance. */
  allowRemovals: flag,
  settings,
});

export type BackfillOrders = v.InferOutput<typeof shape>;

/**
 * On demand: every order created in a range of days. An order that has not changed since it was pushed costs no
 * request.
 */
export const backfillOrders = defineRun({
  name: 'backfill-orders',
  ...runOfOrders,
  priority: 10,
  parse: (payload) => parsePayload(shape, payload),
  plan: (app, payload) => walk(app, payload),
  async next(app, payload, state: WalkState) {
    return state.next === undefined ? undefined : walk(app, payload, state);
  },
  complete: async ({ warehouse: { db } }) => ({ counts: await waitingCounts(db) }),
});

/** One key for one range, whatever the options: a run replaces the one before it. */
export const backfillOrdersKey = ({ from, to }: BackfillOrders): string =>
  ['backfill-orders', from ?? 'first', to ?? 'last'].join('_');

async function walk(app: App, payload: BackfillOrders, from?: WalkState) {
  const { shop, warehouse, config } = app;
  const { db } = warehouse;
  const range = spanOfDays(payload, config.api.timeZone);
  const policy = { ...backfillPolicy(payload), settings: payload.settings ?? settingsOf(app) };
  return stepsUnder(policy, await walkOrders({ shop, db }, range, config.orderBatchSize, from));
}

export const backfillPolicy = ({ withEmail, allowRemovals }: BackfillOrders): PushPolicy => ({
  contact: withEmail ? 'always' : 'never',
  allowRemovals,
});
