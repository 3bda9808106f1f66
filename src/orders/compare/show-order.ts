import type { OrderDetail } from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { deadLettersOfOrder } from '../../warehouse/dead-letters.ts';
import { type LineLinkRow, type OrderLink, orderLinks } from '../../warehouse/orders/order-links.ts';
import { isYoungAt, type PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { type OrderDifference, withoutPersonalData } from '../plan/order-difference.ts';
import { memoryOf } from '../plan/order-memory.ts';
import type { OrderPlan, PlannedRequests } from '../plan/plan-order.ts';
import { beginPlanning, readOrders } from '../plan/read-orders.ts';
import { wireOf } from '../push/send.ts';
import { look } from './compare-orders.ts';

/** The order that a person asks for, at both ends. */
type OrderView = {
  /** As the shop stores it. If its column ignores case, the order is called by the shop's own code from here on. */
  code: string;
  /** The shop's rows; undefined if it does not have the order. */
  shop: RawOrder | undefined;
  /** The order as the service shows it; undefined if it does not have it. */
  service: OrderDetail | undefined;
  /** Why nobody knows whether the service has the order. */
  lookupFault: string | undefined;
  /** In what both ends differ. */
  difference: OrderDifference | undefined;
};

async function lookAt(deps: OrderDeps, asked: string, rights: PushRights) {
  const planning = await beginPlanning(deps, rights);
  const [raw] = await deps.shop.orders([asked]);
  const code = raw?.order.code ?? asked;
  const [ours] = raw ? await readOrders(deps, [raw], planning) : [];
  const link = ours ? undefined : (await orderLinks(deps.db, [code])).get(code);
  const seen = await look(deps, ours ?? { code, memory: memoryOf(link) }, planning);
  const { shown, lookupFault, plan } = seen;
  const service = typeof shown === 'string' ? undefined : shown;
  const view: OrderView = { code, shop: raw, service, lookupFault, difference: plan?.difference };
  return { view, seen, first: ours?.plan, now: planning.now() };
}

/** A request as a push sends it. */
export type SentRequest = Omit<ReturnType<typeof wireOf>, 'call'>;

/** With the customer's data. */
export type OrderPreview = OrderView & {
  /** Why the order cannot be sent. */
  fault: string | undefined;
  /** Why the next run that reads the order sends nothing; undefined: it sends the requests. */
  nothingToSend: OrderPlan['nothing'] | 'cannot be read' | 'not in the shop';
  /** The requests that bring the service in line with the shop, in their order. */
  requests: SentRequest[];
  /** Fields with a value in the shop that the contact rule leaves out of the requests. */
  withheld: string[];
  /** Why: the order is not young, or, if it is, an earlier backfill or `forget`. Undefined: it cannot be read. */
  isYoung: boolean | undefined;
  /** The code of another order: once the service has shown that this one is not the same, customer and lines follow. */
  looksFirstFor: string | undefined;
};

/**
 * What the next run of `sync orders` would send about one order, and how both ends compare now. Sends nothing but GET.
 */
export async function previewOrder(deps: OrderDeps, asked: string, rights: PushRights): Promise<OrderPreview> {
  const { view, seen, first, now } = await lookAt(deps, asked, rights);
  const { order, deadLetter } = seen;
  // A run that does not know yet that the service shows another order sends its first requests.
  const stop = seen.plan?.memory.stop;
  const plan = stop ? first : seen.plan;
  const { difference } = view;
  const createdAt = order?.order.createdAt;
  return {
    ...view,
    fault: (deadLetter ?? stop)?.reason,
    nothingToSend: view.shop === undefined ? 'not in the shop' : deadLetter ? 'cannot be read' : plan?.nothing,
    requests: plan && (stop ?? difference) ? sentRequests(plan, difference?.orderId) : [],
    withheld: plan?.withheld ?? [],
    isYoung: createdAt && isYoungAt(now, createdAt, rights.contactMaxAgeDays),
    looksFirstFor: plan?.looksFirstFor,
  };
}

export const sentRequests = ({ requests }: PlannedRequests, orderId: number | undefined): SentRequest[] =>
  requests.flatMap((request) => {
    if (request.kind === 'find') return [];
    const { method, path, body } = wireOf(request, orderId);
    return [{ method, path, body }];
  });

/** Name, e-mail address and phone number are only said to be there. */
export type OrderExplanation = OrderView & {
  link: OrderLink | undefined;
  lines: readonly LineLinkRow[];
  deadLetters: Awaited<ReturnType<typeof deadLettersOfOrder>>;
};

/**
 * The life of one order: what the shop has, what was pushed, what the service has, and how they compare. Changes
 * nothing.
 */
export async function explainOrder(deps: OrderDeps, asked: string, rights: PushRights): Promise<OrderExplanation> {
  const { view, seen } = await lookAt(deps, asked, rights);
  const { code, shop, service, difference } = view;
  return {
    ...view,
    shop: shop && { ...shop, order: withoutContact(shop.order) },
    link: seen.memory.link,
    lines: seen.memory.lines,
    deadLetters: await deadLettersOfOrder(deps.db, code),
    service: service && withoutContact(service),
    difference: service && difference && withoutPersonalData(difference),
  };
}

const personal = ['user_email', 'user_phone', 'user_name', 'username', 'phone'];

/** Says only whether the customer's fields have a value (promise 9). */
function withoutContact<T extends object>(record: T): T {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, personal.includes(name) && value ? '(a value)' : value]),
  ) as T;
}
