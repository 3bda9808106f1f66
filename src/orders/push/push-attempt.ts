import type { Counts } from '../../base/counts.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { OrderLink } from '../../warehouse/orders/order-links.ts';
import type { PushRecord, Removals } from '../../warehouse/orders/order-record.ts';
import type { LeasedOrder } from '../../warehouse/orders/order-store.ts';
import { contactAfter, contactFields, type LastContact } from '../order/contact-rule.ts';
import { type DesiredOrder, sentFieldsAfter } from '../order/desired-order.ts';
import type { LineLink } from '../order/match-sub-orders.ts';
import { lineKey } from '../order/prepare-order.ts';
import type { Accepted } from './post-order.ts';
import type { PushDeps, PushOutcome } from './push-order.ts';
import { duplicateCheckDelayMs, type FailureKind, retryDelayMs } from './retry-delay.ts';

/** One attempt to bring an order in line with the shop: filled step by step, recorded as a whole. */
export type PushAttempt = {
  desired: DesiredOrder;
  leased: LeasedOrder;
  /** The service's id of the order whose sub-orders the links name; null: not known yet. */
  orderId: number | null;
  /** Ids of sub-orders that the service has, but did not show in its last response to the order. */
  hidden: Set<number>;
  counts: Counts;
  /** All links of the order's lines, as last written or about to be recorded; by line code. */
  links: Map<string, LineLink>;
  /** Links of creations whose sub-orders the service has not shown, and may show yet. */
  unseen: readonly LineLink[];
  /** Line codes of the links to record, and of the links to delete. */
  changed: Set<string>;
  dropLinks: Set<string>;
  /** Lines that became dead letters in this attempt: nothing more is sent about them. */
  failedLines: Map<string, NewDeadLetter>;
  /** How often each line was tried. */
  tries: Map<string, number>;
  /** Why the order as a whole is a dead letter. */
  reasons: string[];
  /** What kind of failure to retry; undefined: none. `transient` where there are both. */
  failure: FailureKind | undefined;
  /** Undefined until the service has accepted the order. */
  removals: Removals | undefined;
};

export function newAttempt(desired: DesiredOrder, leased: LeasedOrder): PushAttempt {
  return {
    desired,
    leased,
    orderId: leased.link.orderId,
    hidden: new Set(),
    counts: {},
    links: new Map((leased.lines as LineLink[]).map((link) => [link.lineCode, link])),
    unseen: leased.link.unseen as readonly LineLink[],
    changed: new Set(),
    dropLinks: new Set(),
    failedLines: new Map(),
    tries: new Map(),
    reasons: [],
    failure: undefined,
    removals: undefined,
  };
}

export function count(attempt: PushAttempt, kind: string, more = 1): void {
  if (more > 0) attempt.counts[kind] = (attempt.counts[kind] ?? 0) + more;
}

/** Notes what a request did for a line. */
export function setLink(attempt: PushAttempt, link: LineLink): void {
  attempt.links.set(link.lineCode, link);
  attempt.changed.add(link.lineCode);
  attempt.dropLinks.delete(link.lineCode);
}

/** Notes that a line has no sub-order: it was removed, or its creation was refused. */
export function dropLink(attempt: PushAttempt, lineCode: string): void {
  attempt.links.delete(lineCode);
  attempt.changed.delete(lineCode);
  attempt.dropLinks.add(lineCode);
}

/** The check for duplicates is done. What this push noted is looked for by another, and so is a duplicate that could not be removed. */
export function endDuplicateCheck(attempt: PushAttempt): void {
  const { leased, failedLines } = attempt;
  const isChecked = (one: LineLink) => leased.link.unseen.includes(one) && !failedLines.has(one.lineCode);
  attempt.unseen = attempt.unseen.filter((one) => !isChecked(one));
}

/** Makes a line a dead letter. */
export function failLine(
  attempt: PushAttempt,
  line: { lineCode: string; content?: unknown },
  reason: string,
  kind: FailureKind,
): void {
  const { code } = attempt.desired.prepared.order;
  const { lineCode, content } = line;
  const payload = { order_code: code, line_code: lineCode, content };
  attempt.failedLines.set(lineCode, {
    kind: 'order_line',
    key: lineKey(code, lineCode),
    order_code: code,
    reason,
    payload,
  });
  setFailure(attempt, kind);
}

/** Makes the order as a whole a dead letter. */
export function failOrder(attempt: PushAttempt, reason: string, kind: FailureKind): void {
  attempt.reasons.push(reason);
  setFailure(attempt, kind);
}

function setFailure(attempt: PushAttempt, kind: FailureKind): void {
  if (attempt.failure !== 'transient') attempt.failure = kind;
}

/**
 * The outcome where the lease was lost: another process took the order over, and sees in the links what this process did.
 * This process tries the order again later.
 */
export function leaseLostOutcome({ now }: PushDeps, { orderCode }: LeasedOrder): PushOutcome {
  return { kind: 'leased-elsewhere', lease: { orderCode, leasedBy: 'another process', leasedUntil: now() } };
}

/** Records an attempt that has ended, which gives the lease back. @param record default: that of an order that was not accepted. */
export async function endAttempt(
  deps: PushDeps,
  attempt: PushAttempt,
  record: PushRecord = recordOf(deps, attempt),
): Promise<PushOutcome> {
  count(attempt, 'lines_failed', attempt.failedLines.size);
  if (!(await deps.store.record(attempt.leased, record))) return leaseLostOutcome(deps, attempt.leased);
  return { kind: 'ended', counts: attempt.counts };
}

/** What to record of an attempt. @param accepted the service's response to the order; undefined: there is none. */
export function recordOf(deps: PushDeps, attempt: PushAttempt, accepted?: Accepted): PushRecord {
  const { desired, leased } = attempt;
  const { link } = leased;
  const { order, waiting } = desired.prepared;
  const before = link.sentFields ?? [];
  const contact = contactOf(deps, attempt, link, accepted);
  return {
    orderId: accepted ? accepted.detail.id : link.orderId,
    fingerprint: desired.fingerprint,
    ...retryOf(attempt, link),
    removals: attempt.removals,
    removalsRun: deps.runId,
    // A line that failed may have been changed all the same; a line that was not pushed stays as unsure as it was.
    linesUnsure:
      attempt.failure === 'transient' ||
      (link.areLinesUnsure && !accepted) ||
      (link.areLinesUnsure && waiting.length > 0),
    contactHash: contact.contactHash,
    contactSent: contact.contactSent,
    sentFields: accepted ? [...sentFieldsAfter(before, accepted.sent), ...accepted.notCleared] : before,
    userGradeCode: order.userGradeCode,
    userGradeId: desired.body.user_grade_id ?? undefined,
    shopUpdatedAt: order.updatedAt ?? null,
    orderedAt: order.createdAt,
    lines: [...attempt.changed].flatMap((lineCode) => attempt.links.get(lineCode) ?? []),
    dropLinks: [...attempt.dropLinks],
    unseen: attempt.unseen,
    waiting,
    deadLetters: deadLettersOf(attempt),
  };
}

function retryOf({ desired, failure, unseen }: PushAttempt, link: OrderLink) {
  const failedPushes = failure === undefined ? 0 : failedPushesAfter(desired, link);
  if (failure !== undefined) return { failedPushes, retryAfterMs: retryDelayMs(failure, failedPushes) };
  return { failedPushes, retryAfterMs: unseen.length > 0 ? duplicateCheckDelayMs : null };
}

/** How many pushes in a row have failed if this one fails too. A change of the order in the shop begins a new row. */
export const failedPushesAfter = (desired: DesiredOrder, link: OrderLink): number =>
  link.fingerprint === desired.fingerprint ? link.failedPushes + 1 : 1;

/**
 * An accepted request without a value means that the service does not have it from us, whatever an earlier order of this code
 * had: the service may have deleted the order, and created it again with this request. A backfill withholds also where its
 * request fails: the regular sync that tries again must not mail the customer.
 */
function contactOf(
  { policy }: PushDeps,
  { desired, failure }: PushAttempt,
  link: OrderLink,
  accepted: Accepted | undefined,
): LastContact {
  if (accepted) {
    const sent = contactFields.filter((field) => typeof accepted.sent[field] === 'string');
    return contactAfter(desired.contactHash, link, sent);
  }
  const wasWithheld = policy.contact === 'never' && failure !== undefined && link.contactHash === null;
  return wasWithheld ? contactAfter(desired.contactHash, link, []) : link;
}

function deadLettersOf({ desired, reasons, failedLines }: PushAttempt): NewDeadLetter[] {
  const { order, lines, faulty } = desired.prepared;
  const { code } = order;
  const faultyLines = faulty.map(({ lineCode: _, ...deadLetter }) => deadLetter);
  const ofLines = [...faultyLines, ...failedLines.values()].map((deadLetter) => ({ ...deadLetter, partOf: order }));
  if (reasons.length === 0) return ofLines;
  const payload = { order, lines };
  return [{ kind: 'order', key: code, order_code: code, reason: reasons.join('; '), payload }, ...ofLines];
}
