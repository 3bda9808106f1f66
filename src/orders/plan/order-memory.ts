import type { OrderBody, OrderDetail } from '../../review-api/index.ts';
import type { LineLinkRow, OrderLink } from '../../warehouse/orders/order-links.ts';
import { contactFields } from '../contact-rule.ts';
import type { FailureKind } from '../limits.ts';
import { isPending, type LineLink } from './sub-orders.ts';

/** The order as the service shows it. `unknown`: nobody has looked yet, or knows what became of requests sent since. */
export type Shown = OrderDetail | 'absent' | 'unknown';

/**
 * `lineCode`: the line that failed; undefined: the order as a whole. `held`: how many removals were not allowed. `kept`: fields
 * that the service did not clear. `other`: the code of the order that the service shows for this one.
 */
export type PushFailure = {
  lineCode?: string;
  reason: string;
  failure: FailureKind;
  held?: number;
  kept?: string[];
  other?: string;
};

/** What is known of an order: what the warehouse remembers, and what the requests of this push have shown so far. */
export type OrderMemory = Readonly<{
  /** As the warehouse remembers it; undefined: nothing. */
  link: OrderLink | undefined;
  lines: readonly LineLink[];
  orderId: number | null;
  /** What the service accepted last, and its response. */
  accepted: { body: OrderBody; detail: OrderDetail } | undefined;
  /** Fields of the order whose empty value the service refused. */
  refused: readonly string[];
  /** Lines that failed: their sub-orders are left as they are. */
  failures: readonly PushFailure[];
  /** How often the lines were sent, this time included. */
  looks: number;
  /** The removals of 24 hours are used up, so this push sends none. */
  areRemovalsHeld: boolean;
  /** How many removals are not sent, for this or another reason. */
  held: number;
  /** The deletion of the order was held back or refused, or nobody knows what became of it. */
  failedDeletion: (PushFailure & { isUnknown?: true }) | undefined;
  /** Why nothing more is sent of the order. */
  stop: PushFailure | undefined;
}>;

/** What is known before anything is sent. */
export const memoryOf = (link: OrderLink | undefined, lines: readonly LineLinkRow[] = []): OrderMemory => ({
  link,
  lines: lines as readonly LineLink[],
  orderId: link?.orderId ?? null,
  accepted: undefined,
  refused: [],
  failures: [],
  looks: 1,
  areRemovalsHeld: false,
  held: 0,
  failedDeletion: undefined,
  stop: undefined,
});

/**
 * Links to sub-orders are of one order of the service: if it has lost the order and made it again under another id, only
 * creations are left, for a push may have died while it made the order again.
 */
export function asShown(memory: OrderMemory, shown: Shown): OrderMemory {
  if (typeof shown === 'string' || shown.id === memory.orderId) return memory;
  const lines = memory.orderId === null ? memory.lines : memory.lines.filter(isPending);
  return { ...memory, orderId: shown.id, lines };
}

/** No push of the order has begun. */
export const isNeverPushed = (link: OrderLink | undefined) => link === undefined || link.contact === null;

/** The service has made an order again that it had lost, as after the restoration of a backup. */
export const isMadeAgain = ({ link, orderId }: OrderMemory) =>
  link !== undefined && link.orderId !== null && link.orderId !== orderId;

/** Optional fields that the service was sent a value of. */
export const sentBefore = (memory: OrderMemory): readonly string[] =>
  isMadeAgain(memory) ? [] : (memory.link?.sentFields ?? []);

/** Whether a push of ours may have left contact at the service. If the push was not recorded, it may have. */
export const mayHaveContact = ({ link }: OrderMemory) =>
  link === undefined ||
  link.orderId === null ||
  link.fingerprint === null ||
  contactFields.some((field) => link.sentFields.includes(field));
