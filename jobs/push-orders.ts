import * as v from 'valibot';
import type { App } from '../src/app/app.ts';
import { orderDeps } from '../src/app/deps.ts';
import type { PushPolicy } from '../src/orders/order/desired-order.ts';
import { pushOrders as push } from '../src/orders/push/push-slice.ts';
import type { StepJob } from '../src/queue/job.ts';
import { flag, parsePayload } from './payload.ts';

const shape = v.object({
  codes: v.array(v.string()),
  contact: v.picklist(['young', 'never', 'always']),
  allowRemovals: flag,
});

export type OrderStep = v.InferOutput<typeof shape>;

/** Step: brings up to 1000 orders at the service in line with the shop. */
export const pushOrders: StepJob<App, OrderStep> = {
  name: 'push-orders',
  parse: (payload) => parsePayload(shape, payload),
  run: (app, { codes, ...policy }, { signal }) => app.sliceSlots(() => push(orderDeps(app, signal), codes, policy)),
};

/** A batch of codes as the steps of a run under one policy. */
export const stepsUnder =
  (policy: PushPolicy) =>
  <State>({ steps, state }: { steps: string[][]; state: State }) => ({
    state,
    steps: steps.map((codes): OrderStep => ({ codes, ...policy })),
  });
