import { type DayRange, secondsOf } from '../src/day-range.ts';
import { planBackfillOrders } from '../src/orders/backfill-orders.ts';
import { defineRun } from './define-run.ts';
import { object, optionalText } from './payload.ts';
import { pushOrders } from './push-orders.ts';

export type BackfillOrders = DayRange & {
  /** Whether customers' e-mail and phone go along (promise 7: only when asked for). */
  withEmail: boolean;
};

/** On demand: every order created in a range of days. What stands at the service already costs no request. */
export const backfillOrders = defineRun({
  name: 'backfill-orders',
  step: pushOrders,
  priority: 10,
  letters: ['order', 'order_line'],
  parse(payload): BackfillOrders {
    const given = object(payload);
    return { ...optionalText(given, 'from'), ...optionalText(given, 'to'), withEmail: given.withEmail === true };
  },
  async plan(app, payload) {
    const { slices } = await planBackfillOrders(app.shop, secondsOf(payload, app.config.api.timeZone));
    const contact = payload.withEmail ? ('always' as const) : ('never' as const);
    return { steps: slices.map((slice) => ({ slice, contact })), state: {} };
  },
  complete: async () => ({}),
});

/** One id for one range: called again while it is going, it is the same run. */
export function backfillOrdersId({ from, to, withEmail }: BackfillOrders): string {
  return ['backfill-orders', from ?? 'first', to ?? 'last', ...(withEmail ? ['with-email'] : [])].join('_');
}
