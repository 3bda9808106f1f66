import * as v from 'valibot';
import type { App } from '../src/app/app.ts';
import { orderDeps } from '../src/app/deps.ts';
import { pushOrders } from '../src/orders/push/push-slice.ts';
import type { Batch } from '../src/orders/which/orders-by-day.ts';
import type { StepJob } from '../src/queue/job.ts';
import { slicesOf } from '../src/shop/orders.ts';
import { flag, parsePayload, settings } from './payload.ts';

const shape = v.object({
  codes: v.array(v.string()),
  contact: v.picklist(['young', 'never', 'always']),
  allowRemovals: flag,
  settings,
});

export type OrderStep = v.InferOutput<typeof shape>;

/** Step: brings up to 500 orders at the service in line with the shop. */
export const pushOrdersStep: StepJob<App, OrderStep> = {
  name: 'push-orders',
  parse: (payload) => parsePayload(shape, payload),
  run: (app, step, { signal }) => pushNow(app, step, signal),
};

/** Pushes the orders of a step in this process, without a run. */
export const pushNow = (app: App, { codes, settings: given, ...policy }: OrderStep, signal: AbortSignal) =>
  app.sliceSlots(() => pushOrders({ ...orderDeps(app, signal), ...given }, codes, policy));

/** A batch of orders as the steps of a run under one policy. */
export function stepsUnder<State>(policy: Omit<OrderStep, 'codes'>, { codes, state }: Batch<State>) {
  const steps = slicesOf(codes).map((slice): OrderStep => ({ codes: slice, ...policy }));
  return { steps, state };
}
