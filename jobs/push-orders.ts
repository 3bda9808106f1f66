import * as v from 'valibot';
import { orderDeps } from '../src/app/deps.ts';
import { pushRights } from '../src/app/run-rights.ts';
import { contactPolicy } from '../src/orders/contact-rule.ts';
import { slicesOf } from '../src/orders/limits.ts';
import { pushOrders } from '../src/orders/push/push-orders.ts';
import type { Batch } from '../src/orders/select/orders-by-day.ts';
import type { StepJob } from '../src/runs/define-run.ts';
import { parsePayload } from './payload.ts';

/** Keys only: the row of the run says what the step may do with these orders. */
const shape = v.object({ codes: v.array(v.string()) });

export type OrderStep = v.InferOutput<typeof shape>;

/** Step: brings one slice of orders (`slicesOf`) at the service in line with the shop. */
export const pushOrdersStep: StepJob<OrderStep> = {
  name: 'push-orders',
  parse: (payload) => parsePayload(shape, payload),
  async run(app, { codes }, { run, signal }) {
    const rights = pushRights(app.config, run.rights);
    const counts = await app.sliceSlots(() => pushOrders(orderDeps(app, signal), codes, rights));
    const isWithheld = contactPolicy(run.rights) === 'always' && contactPolicy(rights) !== 'always';
    return isWithheld ? { ...counts, orders_without_contact: codes.length } : counts;
  },
};

/** A batch of orders as the steps of a run. */
export const stepsOf = <State>({ codes, state }: Batch<State>) => ({
  steps: slicesOf(codes).map((slice): OrderStep => ({ codes: slice })),
  state,
});
