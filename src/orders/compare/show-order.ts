import type { OrderDetail } from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { deadLettersOfOrder } from '../../warehouse/dead-letters.ts';
import { type LineLinkRow, type OrderLink, orderLines, orderLinks } from '../../warehouse/orders/order-links.ts';
import type { PushRights } from '../contact-rule.ts';
import type { OrderDeps } from '../order-deps.ts';
import { whyNothing } from '../plan/desired-order.ts';
import { type OrderDifference, type OrderRequest, requestsOf, withoutPersonalData } from '../plan/order-difference.ts';
import { type OrderLook, openLookup, shopOrders } from './look-at-order.ts';

/**
 * The order that a person asks for, at both ends.
 *
 * @param asked its code. Where the shop's column ignores case, the order is called by the shop's own code from here on.
 */
async function lookUp(deps: OrderDeps, asked: string, rights: PushRights) {
  const [raw] = await deps.shop.orders([asked]);
  const code = raw?.order.code ?? asked;
  const link = (await orderLinks(deps.db, [code])).get(code);
  const lookup = await openLookup(deps);
  const [ours] = raw ? await shopOrders(deps, [raw], rights) : [];
  const look = ours && (await lookup.look(ours, rights));
  const shown = look?.shown ?? (await lookup.show({ code, orderId: link?.orderId }));
  const lookupFault = shown.kind === 'failed' ? shown.reason : undefined;
  return { code, raw, link, look, shown, lookupFault };
}

/** Why the next run of `sync orders` would send nothing about the order. */
export type NothingToSend = 'unchanged' | 'deleted in the shop' | 'cannot be read' | 'not in the shop';

export type OrderPreview = {
  /** As the shop stores it. */
  code: string;
  /** With the customer's data. */
  shop: RawOrder | undefined;
  /** Why the order cannot be sent. */
  fault: string | undefined;
  /** Undefined: the next run that reads the order sends the requests. */
  nothingToSend: NothingToSend | undefined;
  /** The requests that bring the service in line with the shop, in their order; with the customer's data. */
  requests: OrderRequest[];
  /** Fields with a value in the shop that the contact rule leaves out of the requests. */
  withheld: string[];
  /** Why: the order is not young, or, where it is, an earlier backfill or `forget`. Undefined: it cannot be read. */
  isYoung: boolean | undefined;
  /** Lines of which nothing is sent, and why. */
  linesNotSent: { lineCode: string; reason: string }[];
  atService: 'found' | 'absent' | 'failed';
  /** Why the service could not be asked about the order. */
  lookupFault: string | undefined;
  difference: OrderDifference | undefined;
};

/**
 * What the next run of `sync orders` would send about one order, and how both ends compare now. Sends nothing but GET.
 */
export async function previewOrder(deps: OrderDeps, asked: string, rights: PushRights): Promise<OrderPreview> {
  const { code, raw, look, shown, lookupFault } = await lookUp(deps, asked, rights);
  const nothingToSend = nothingOf(look, rights);
  const difference = look?.difference;
  const isShown = difference !== undefined && nothingToSend !== 'deleted in the shop';
  return {
    code,
    shop: raw,
    fault: look?.fault,
    nothingToSend,
    requests: isShown ? requestsOf(difference) : [],
    withheld: look?.withheld ?? [],
    isYoung: look?.isYoung,
    linesNotSent: isShown ? difference.linesNotSent : [],
    atService: shown.kind,
    lookupFault,
    difference,
  };
}

function nothingOf(look: OrderLook | undefined, rights: PushRights): NothingToSend | undefined {
  if (!look) return 'not in the shop';
  const { desired, link, shown } = look;
  if (!desired) return 'cannot be read';
  if (desired.order.deletedAt !== undefined && shown.kind === 'absent') return 'deleted in the shop';
  return whyNothing(desired, link, rights);
}

export type OrderExplanation = {
  /** As the shop stores it. */
  code: string;
  /** The shop's rows; undefined where it does not have the order. Name, e-mail and phone are only said to be there. */
  shop: RawOrder | undefined;
  link: OrderLink | undefined;
  lines: LineLinkRow[];
  deadLetters: Awaited<ReturnType<typeof deadLettersOfOrder>>;
  /** The order as the service shows it; undefined where it does not have it. */
  service: OrderDetail | undefined;
  /** Why nobody knows whether the service has the order. */
  lookupFault: string | undefined;
  /** What a push would send. Undefined where one end does not have the order, or its rows cannot be read. */
  difference: ReturnType<typeof withoutPersonalData> | undefined;
};

/**
 * The life of one order: what the shop has, what was pushed, what the service has, and how they compare. Changes
 * nothing.
 */
export async function explainOrder(deps: OrderDeps, asked: string, rights: PushRights): Promise<OrderExplanation> {
  const { code, raw, link, look, shown, lookupFault } = await lookUp(deps, asked, rights);
  const isFound = shown.kind === 'found';
  return {
    code,
    shop: raw && { ...raw, order: withoutContact(raw.order) },
    link,
    lines: (await orderLines(deps.db, [code])).get(code) ?? [],
    deadLetters: await deadLettersOfOrder(deps.db, code),
    service: isFound ? withoutContact(shown.detail) : undefined,
    lookupFault,
    difference: isFound && look?.difference ? withoutPersonalData(look.difference) : undefined,
  };
}

const personal = ['user_email', 'user_phone', 'user_name', 'username', 'phone'];

/** Says only whether the customer's fields have a value (promise 9). */
function withoutContact<T extends object>(record: T): T {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, personal.includes(name) && value ? '(a value)' : value]),
  ) as T;
}
