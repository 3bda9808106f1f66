import type { App } from '../src/app.ts';
import { type OrderStep, pushStep } from '../src/orders/sync-orders.ts';
import type { StepJob } from '../src/queue/job.ts';
import type { OrderKey } from '../src/shop/orders.ts';
import { object, oneOf, text } from './payload.ts';

/** Step: brings one slice of orders at the service in line with the shop. */
export const pushOrders: StepJob<App, OrderStep> = {
  name: 'push-orders',
  parse(payload) {
    const step = object(payload);
    const contact = oneOf(step, 'contact', ['young', 'never', 'always']);
    if (Array.isArray(step.codes)) return { codes: step.codes.map(String), contact };
    const slice = object(step.slice);
    const axis = oneOf(slice, 'axis', ['updated', 'created']);
    return { slice: { axis, after: key(slice.after), upTo: key(slice.upTo) }, contact };
  },
  run: (app, step, { signal }) =>
    pushStep(
      {
        api: app.api,
        shop: app.shop,
        db: app.warehouse.db,
        log: app.log,
        now: app.now,
        signal,
        contactMaxAgeDays: app.config.orderContactMaxAgeDays,
        deletes: app.config.orderDeletes,
      },
      step,
    ),
};

function key(payload: unknown): OrderKey {
  const place = object(payload);
  return { at: text(place, 'at'), code: text(place, 'code') };
}
