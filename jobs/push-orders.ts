import type { App } from '../src/app/app.ts';
import { orderDeps } from '../src/app/deps.ts';
import type { PushPolicy } from '../src/orders/order/desired-order.ts';
import { pushOrders as push } from '../src/orders/push/push-slice.ts';
import type { StepJob } from '../src/queue/job.ts';
import { object, oneOf, texts } from './payload.ts';

export type OrderStep = { codes: string[] } & PushPolicy;

/** Step: brings up to 1000 orders at the service in line with the shop. */
export const pushOrders: StepJob<App, OrderStep> = {
  name: 'push-orders',
  parse(payload) {
    const step = object(payload);
    const contact = oneOf(step, 'contact', ['young', 'never', 'always']);
    return { codes: texts(step, 'codes'), contact, allowRemovals: step.allowRemovals === true };
  },
  run: (app, { codes, ...policy }, { signal }) => app.sliceSlots(() => push(orderDeps(app, signal), codes, policy)),
};

/** A batch of codes as the steps of a run under one policy. */
export const stepsUnder =
  (policy: PushPolicy) =>
  <State>({ steps, state }: { steps: string[][]; state: State }) => ({
    state,
    steps: steps.map((codes): OrderStep => ({ codes, ...policy })),
  });
