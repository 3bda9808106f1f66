import type { OrderBody, OrderDetail } from '../../review-api/index.ts';
import type { LineLinkRow, OrderLink } from '../../warehouse/orders/order-links.ts';
import { contactFields } from '../contact-rule.ts';
import type { FailureKind } from '../limits.ts';
import { isPending, type LineLink } from './sub-orders.ts';

/** The order as the service shows it. `unknown`: nobody has looked yet, or a later request has no certain outcome. */
export type Shown = OrderDetail | 'absent' | 'unknown';

/**
 * `lineCode`: the line that failed; undefined: the order as a whole. `held`: the number of removals held back. `kept`:
 * fields that the service did not clear. `other`: the code of the order that the service shows for this one.
 */
export type PushFailure = {
  lineCode?: string;
  reason: string;
  failure: FailureKind;
  held?: number;
  kept?: string[];
  other?: string;
};

/** What is known of an order from the warehouse and from the requests of this push so far. */
export type OrderMemory = Readonly<{
  /** Undefined: the warehouse has no record of the order. */
  link: OrderLink | undefined;
  lines: readonly LineLink[];
  orderId: number | null;
  /** The last accepted body, and the service's response. */
  accepted: { body: OrderBody; detail: OrderDetail } | undefined;
  /** Fields of the order that the service refused to empty. */
  refused: readonly string[];
  /** Lines that failed: their sub-orders are left as they are. */
  failures: readonly PushFailure[];
  /** How often the lines were sent, this time included. */
  looks: number;
  /** The removals of 24 hours are used up, so this push removes no sub-order. */
  areRemovalsHeld: boolean;
  /** How many removals are not sent, for any reason. */
  held: number;
  /** The deletion of the order was held back or refused, or its outcome is unknown. */
  failedDeletion: (PushFailure & { isUnknown?: true }) | undefined;
  /** Why nothing more is sent of the order. */
  stop: PushFailure | undefined;
}>;

/** The memory before anything is sent. */
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
 * A link belongs to one order of the service. If the service lost the order and created it again under another id, only
 * links of creations stay: a push may have died while it created the order again.
 */
export function asShown(memory: OrderMemory, shown: Shown): OrderMemory {
  if (typeof shown === 'string' || shown.id === memory.orderId) return memory;
  const lines = memory.orderId === null ? memory.lines : memory.lines.filter(isPending);
  return { ...memory, orderId: shown.id, lines };
}

/** No push of the order has begun. */
export const isNeverPushed = (link: OrderLink | undefined) => link === undefined || link.contact === null;

/** The service lost the order, as after the restoration of a backup, and has created it again. */
export const isMadeAgain = ({ link, orderId }: OrderMemory) =>
  link !== undefined && link.orderId !== null && link.orderId !== orderId;

/** Optional fields that were sent to the service with a value. */
export const sentBefore = (memory: OrderMemory): readonly string[] =>
  isMadeAgain(memory) ? [] : (memory.link?.sentFields ?? []);

/** Whether a push of ours may have left contact at the service. A push without a record may have. */
export const mayHaveContact = ({ link }: OrderMemory) =>
  link === undefined ||
  link.orderId === null ||
  link.fingerprint === null ||
  contactFields.some((field) => link.sentFields.includes(field));
