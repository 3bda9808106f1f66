import { describeError, UsageError } from '../../base/errors.ts';
import type { OrderDetail } from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { deadLettersOfOrder } from '../../warehouse/dead-letters.ts';
import { type LineLinkRow, type OrderLink, orderLines, orderLinks } from '../../warehouse/orders/order-links.ts';
import { isYoungAt, type PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { type OrderDifference, withoutPersonalData } from '../plan/order-difference.ts';
import { type OrderPlan, wireOf } from '../plan/plan-order.ts';
import { lookUp, openPlans, shopOrders } from './look-at-order.ts';

/**
 * The order that a person asks for, at both ends.
 *
 * @param asked its code. If the shop's column ignores case, the order is called by the shop's own code from here on.
 */
async function lookAt(deps: OrderDeps, asked: string, rights: PushRights) {
  const { raw, shopFault } = await askShop(deps, asked);
  const code = raw?.order.code ?? asked;
  const link = (await orderLinks(deps.db, [code])).get(code);
  const plans = await openPlans(deps, rights);
  const [ours] = raw ? await shopOrders(deps, [raw], rights) : [];
  const planned = ours && (await plans.look(ours));
  const { shown, lookupFault } = planned ?? (await lookUp(deps, code, link?.orderId));
  return { code, raw, shopFault, link, planned, shown, lookupFault, now: plans.now() };
}

/** A shop that is down does not hide what the service knows. @throws UsageError for a query that is wrong. */
async function askShop({ shop }: OrderDeps, code: string): Promise<{ raw?: RawOrder; shopFault?: string }> {
  try {
    const [raw] = await shop.orders([code]);
    return raw ? { raw } : {};
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return { shopFault: describeError(error) };
  }
}

/** Why the next run of `sync orders` would send nothing about the order. */
export type NothingToSend = 'unchanged' | 'deleted in the shop' | 'cannot be read' | 'not in the shop';

/** A request as a push sends it. */
export type SentRequest = NonNullable<ReturnType<typeof wireOf>>;

export type OrderPreview = {
  /** As the shop stores it. */
  code: string;
  /** With the customer's data. */
  shop: RawOrder | undefined;
  /** Why the shop could not be asked about the order. */
  shopFault: string | undefined;
  /** Why the order cannot be sent. */
  fault: string | undefined;
  /** Undefined: the next run that reads the order sends the requests. */
  nothingToSend: NothingToSend | undefined;
  /** The requests that bring the service in line with the shop, in their order; with the customer's data. */
  requests: SentRequest[];
  /** Fields with a value in the shop that the contact rule leaves out of the requests. */
  withheld: string[];
  /** Why: the order is not young, or, if it is, an earlier backfill or `forget`. Undefined: it cannot be read. */
  isYoung: boolean | undefined;
  /** Lines that are not sent, and why. */
  linesNotSent: { lineCode: string; reason: string }[];
  atService: 'found' | 'absent' | 'failed';
  /** The order as the service shows it, with the customer's data. */
  service: OrderDetail | undefined;
  /** Why the service could not be asked about the order. */
  lookupFault: string | undefined;
  difference: OrderDifference | undefined;
};

/**
 * What the next run of `sync orders` would send about one order, and how both ends compare now. Sends nothing but GET.
 */
export async function previewOrder(deps: OrderDeps, asked: string, rights: PushRights): Promise<OrderPreview> {
  const { code, raw, shopFault, planned, shown, lookupFault, now } = await lookAt(deps, asked, rights);
  const plan = planned?.plan;
  const fault = planned?.fault;
  const { difference, nothing } = plan ?? {};
  const isSent = difference !== undefined && nothing !== 'deleted in the shop';
  const createdAt = planned?.order?.order.createdAt;
  const atService = { unknown: 'failed', absent: 'absent' } as const;
  return {
    code,
    shop: raw,
    shopFault,
    fault,
    nothingToSend: nothingOf({ raw, shopFault, fault }) ?? nothing,
    requests: plan && isSent ? sentRequests(plan, difference) : [],
    withheld: plan?.withheld ?? [],
    isYoung: createdAt && isYoungAt(now, createdAt, rights.contactMaxAgeDays),
    linesNotSent: isSent ? difference.linesNotSent : [],
    atService: typeof shown === 'string' ? atService[shown] : 'found',
    service: typeof shown === 'string' ? undefined : shown,
    lookupFault,
    difference,
  };
}

/** Why nothing can be said of what the next run sends. */
function nothingOf(known: { raw: RawOrder | undefined; shopFault: string | undefined; fault: string | undefined }) {
  if (known.shopFault !== undefined || known.fault !== undefined) return 'cannot be read';
  return known.raw === undefined ? 'not in the shop' : undefined;
}

/** The requests of a plan as they go over the wire. */
export const sentRequests = (
  { requests }: Pick<OrderPlan, 'requests'>,
  { orderId }: Pick<OrderDifference, 'orderId'>,
): SentRequest[] => requests.flatMap((request) => wireOf(request, orderId) ?? []);

export type OrderExplanation = {
  /** As the shop stores it. */
  code: string;
  /** The shop's rows; undefined if it does not have the order. Name, e-mail and phone are only said to be there. */
  shop: RawOrder | undefined;
  /** Why the shop could not be asked about the order. */
  shopFault: string | undefined;
  link: OrderLink | undefined;
  lines: LineLinkRow[];
  deadLetters: Awaited<ReturnType<typeof deadLettersOfOrder>>;
  /** The order as the service shows it; undefined if it does not have it. */
  service: OrderDetail | undefined;
  /** Why nobody knows whether the service has the order. */
  lookupFault: string | undefined;
  /** In what both ends differ. Undefined if one end does not have the order, or its rows cannot be read. */
  difference: OrderDifference | undefined;
};

/**
 * The life of one order: what the shop has, what was pushed, what the service has, and how they compare. Changes
 * nothing.
 */
export async function explainOrder(deps: OrderDeps, asked: string, rights: PushRights): Promise<OrderExplanation> {
  const { code, raw, shopFault, link, planned, shown, lookupFault } = await lookAt(deps, asked, rights);
  const service = typeof shown === 'string' ? undefined : shown;
  const difference = planned?.plan?.difference;
  return {
    code,
    shop: raw && { ...raw, order: withoutContact(raw.order) },
    shopFault,
    link,
    lines: (await orderLines(deps.db, [code])).get(code) ?? [],
    deadLetters: await deadLettersOfOrder(deps.db, code),
    service: service && withoutContact(service),
    lookupFault,
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
