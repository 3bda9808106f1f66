import { deadLettersOfOrder } from '../../warehouse/dead-letters.ts';
import { orderLines, orderLinks } from '../../warehouse/orders/order-links.ts';
import type { PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { memoryOf } from '../plan/order-memory.ts';
import { masked, type OrderPlan, type PlannedRequests, planOrder, withoutPersonalData } from '../plan/plan-order.ts';
import { beginPlanning, readOrders } from '../plan/read-orders.ts';
import { wireOf } from '../push/send.ts';
import { look } from './compare-orders.ts';

/** A request as a push would send it. */
export type WireRequest = Omit<ReturnType<typeof wireOf>, 'call'>;

/** The order that a person asks for, with the customer's data. */
export type ShownOrder = Awaited<ReturnType<typeof showOrder>>;

/**
 * The life of one order: what the shop has, what was pushed, what the service has, how they compare now, and what the
 * next run of `sync orders` would send. Sends GET only, and changes nothing.
 */
export async function showOrder(deps: OrderDeps, asked: string, rights: PushRights) {
  const planning = await beginPlanning(deps, rights);
  const [raw] = await deps.shop.orders([asked]);
  const code = raw?.order.code ?? asked;
  const [read] = raw ? await readOrders(deps, [raw], planning) : [];
  const ours = read ?? { code, link: (await orderLinks(deps.db, [code])).get(code) };
  const lines = (await orderLines(deps.db, [code])).get(code);
  const seen = await look(deps, ours, lines, planning);
  const { link, order, shown, lookupFault, deadLetter } = seen;
  const difference = seen.plan?.difference;
  // The next run does not know yet that the service shows another order, and sends its first requests.
  const stop = seen.plan?.memory.stop;
  const plan = stop && order ? planOrder(order, 'unknown', memoryOf(link), planning) : seen.plan;
  const nothing: OrderPlan['nothing'] | 'cannot be read' | 'not in the shop' =
    raw === undefined ? 'not in the shop' : deadLetter ? 'cannot be read' : plan?.nothing;
  return {
    /** As the shop stores it, and as used below. If the shop's column ignores case, it may differ from `asked`. */
    code,
    shop: raw,
    service: typeof shown === 'string' ? undefined : shown,
    /** Why we do not know whether the service has the order. */
    lookupFault,
    difference,
    link,
    lines: lines ?? [],
    deadLetters: await deadLettersOfOrder(deps.db, code),
    /** Why the order cannot be sent. */
    fault: (deadLetter ?? stop)?.reason,
    /** Why the next run that reads the order sends nothing. Undefined: it sends `requests`. */
    nothingToSend: nothing,
    requests: plan && (stop ?? difference) ? wireRequests(plan, difference?.orderId) : [],
    /** Fields with a value in the shop that the contact rule leaves out of the requests. */
    withheld: plan?.withheld ?? [],
    /** The code of another order. Customer and lines follow once the service has shown that the two differ. */
    looksFirstFor: plan?.looksFirstFor,
  };
}

export const wireRequests = ({ requests }: PlannedRequests, orderId: number | undefined): WireRequest[] =>
  requests.flatMap((request) => {
    if (request.kind === 'find') return [];
    const { method, path, body } = wireOf(request, orderId);
    return [{ method, path, body }];
  });

/** A ShownOrder without the requests. It says only whether name, e-mail address and phone number are there. */
export function withoutCustomer({ requests: _, ...order }: ShownOrder): Omit<ShownOrder, 'requests'> {
  const { shop, service, difference } = order;
  return {
    ...order,
    shop: shop && { ...shop, order: withoutPersonal(shop.order) },
    service: service && withoutPersonal(service),
    difference: service && difference && withoutPersonalData(difference),
  };
}

const withoutPersonal = <T extends object>(record: T): T =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, masked(name, value)])) as T;
