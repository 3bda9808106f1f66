import type { App } from '../src/app/app.ts';
import { orderDeps } from '../src/app/deps.ts';
import { beginStep, type OrderStep } from '../src/orders/push/push-slice.ts';
import type { StepJob } from '../src/queue/job.ts';
import { object, oneOf, optionalText, texts } from './payload.ts';

/** Step: brings up to 1000 orders at the service in line with the shop. */
export const pushOrders: StepJob<App, OrderStep> = {
  name: 'push-orders',
  parse(payload) {
    const step = object(payload);
    const contact = oneOf(step, 'contact', ['young', 'never', 'always']);
    const removals = oneOf(step, 'removals', ['usual', 'approved', 'all']);
    return { codes: texts(step, 'codes'), ...optionalText(step, 'plannedAt'), contact, removals };
  },
  async run(app, step, { runId, signal }) {
    const deps = { ...orderDeps(app, signal), runId };
    // Once all orders of this step have begun, the next step reads its orders.
    const { ended } = await app.sliceSlots(() => beginStep(deps, step));
    return ended;
  },
};
