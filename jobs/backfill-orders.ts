import { UsageError } from '../src/errors.ts';
import { type CreationRange, planBackfillOrders } from '../src/orders/backfill-orders.ts';
import { dayAfter, startOfDay } from '../src/span.ts';
import { defineRun } from './define-run.ts';
import { object, optionalText } from './payload.ts';
import { pushOrders } from './push-orders.ts';

export type BackfillOrders = {
  from?: string;
  to?: string;
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
    const { slices } = await planBackfillOrders(app.shop, creationRange(payload, app.config.api.timeZone));
    const contact = payload.withEmail ? ('always' as const) : ('never' as const);
    return { steps: slices.map((slice) => ({ slice, contact })), state: {} };
  },
  complete: async () => {},
});

/** One id for one range: called again while it is going, it is the same run. */
export function backfillOrdersId({ from, to, withEmail }: BackfillOrders): string {
  return ['backfill-orders', from ?? 'first', to ?? 'last', ...(withEmail ? ['with-email'] : [])].join('_');
}

/**
 * The seconds of a range of days, both inclusive, in the zone.
 *
 * @throws UsageError when a day is none, or the range is empty.
 */
export function creationRange({ from, to }: { from?: string; to?: string }, zone: string): CreationRange {
  const day = (name: string, text: string | undefined) => {
    const start = text === undefined ? undefined : startOfDay(text, zone);
    if (text !== undefined && start === undefined) {
      throw new UsageError(`--${name} is ${JSON.stringify(text)}, expected a day such as 2026-01-31`);
    }
    return start;
  };
  const [start, last] = [day('from', from), day('to', to)];
  if (start !== undefined && last !== undefined && start > last) {
    throw new UsageError(`--from ${from} is after --to ${to}`, { hint: 'Exchange the two.' });
  }
  return { start, end: last === undefined ? undefined : dayAfter(last, zone) };
}
