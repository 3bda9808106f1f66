import type { Counts } from '../../base/counts.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { LeasedOrder, PushRecord } from '../../warehouse/orders/order-store.ts';
import { contactFields, isContactField, isContactLeftToSync } from '../contact-rule.ts';
import { type FailureKind, lookAgainMs, retryDelayMs } from '../limits.ts';
import { contactStopped, type DesiredOrder, lineKey, optionalFields } from '../plan/desired-order.ts';
import { isMadeAgain, type OrderMemory, type PushFailure, sentBefore } from '../plan/order-memory.ts';
import { emptyFields, fieldsOfShop, isEmptied, type Planning, shownOnly, toAllow, usedUp } from '../plan/plan-order.ts';
import type { LineLink } from '../plan/sub-orders.ts';
import type { Result } from './send.ts';

/** The record of a push. Pure except for the clock, and the only place that makes a record. */
export function recordOf(
  order: DesiredOrder,
  { link, isNew }: LeasedOrder,
  memory: OrderMemory,
  { rights, readAt, now }: Planning,
): PushRecord {
  const { waiting, faulty } = order;
  const { createdAt, userGradeCode } = order.order;
  const kept = keptFields(order, memory);
  const failures = failuresOf(order, memory, kept);
  const kinds: FailureKind[] = [...failures.map(({ failure }) => failure), ...faulty.map(() => 'transient' as const)];
  const failedPushes = kinds.length === 0 ? 0 : link.fingerprint === order.fingerprint ? link.failedPushes + 1 : 1;
  const kind = kinds.includes('transient') ? 'transient' : 'permanent';
  const isPushed = memory.accepted !== undefined && memory.stop === undefined;
  const isInLine = isPushed && failures.length === 0;
  const { lines, isWatched } = watchedLines(memory.lines, isInLine ? readAt : undefined);
  // A backfill sends no contact. If the rule allows contact, the regular sync pushes the order once more.
  const hasContact = contactFields.some((field) => order.body[field] !== undefined);
  const isContactLeft =
    isPushed && hasContact && isContactLeftToSync({ decision: link.contact, createdAt, now: now() }, rights);
  const isContactStopped = isInLine && hasContact && rights.contactMaxAgeDays <= 0 && link.contact === 'allowed';
  const retryAfterMs = failedPushes === 0 ? null : retryDelayMs(kind, failedPushes);
  const dueAfterMs = isInLine && isWatched ? lookAgainMs : retryAfterMs;
  // An earlier push died, or had no response: a refusal now does not say that the service lacks the order.
  const isInDoubt = !isNew && link.pushedAt === null && (link.fingerprint !== null || link.failedPushes === 0);
  return {
    orderId: memory.orderId,
    fingerprint: isContactLeft ? null : isContactStopped ? contactStopped(order) : order.fingerprint,
    sentFields: sentFieldsAfter(memory, kept),
    failedPushes,
    isAnswered: memory.orderId !== null || (memory.stop?.failure !== 'transient' && !isInDoubt),
    dueAfterMs: isContactLeft ? 0 : dueAfterMs,
    userGradeCode,
    userGradeId: order.body.user_grade_id ?? undefined,
    orderedAt: createdAt,
    lines,
    waiting,
    deadLetters: newDeadLetters(order, failures),
  };
}

/** Everything that was not done. If the order was stopped, its other failures are not known yet. */
function failuresOf(order: DesiredOrder, memory: OrderMemory, kept: string[]): PushFailure[] {
  const { failedDeletion, stop, failures, held } = memory;
  const found: PushFailure[] = failedDeletion && !failedDeletion.isUnknown ? [failedDeletion] : [];
  if (stop) return [...found, stop];
  found.push(...failures);
  const keptReason =
    `the service keeps ${kept.join(', ')} although the shop has none and an empty value was sent; ` +
    'clear it there by hand, then discard this dead letter';
  const heldReason = isEmptied(order)
    ? `the shop shows no line of the order any more, although the service has ${held} of its sub-orders; none was removed`
    : `${held} of its sub-orders are not removed although the shop does not show their lines any more: ${usedUp}`;
  if (kept.length > 0) found.push({ reason: keptReason, failure: 'permanent', kept });
  if (held > 0) found.push({ reason: `${heldReason}. ${toAllow}`, failure: 'transient', held });
  return found;
}

/**
 * Fields that the service keeps although the shop has no value: it refused an empty value, or accepted it and shows the
 * old one. A value that we did not send, and that reaches nobody, may be the service's mark for a guest.
 */
function keptFields(order: DesiredOrder, memory: OrderMemory): string[] {
  const { accepted, refused } = memory;
  const sent = sentBefore(memory);
  const emptied = accepted ? emptyFields(accepted.body) : [];
  const fields =
    accepted && emptied.length > 0 ? fieldsOfShop(order, accepted.detail, sent, contactFields, undefined) : [];
  const shown = shownOnly(fields);
  const kept = [...refused, ...shown.filter((field) => emptied.includes(field))];
  return kept.filter((field) => sent.includes(field) || isContactField(field));
}

/** Which optional fields the service holds now, as far as we know. */
function sentFieldsAfter(memory: OrderMemory, kept: readonly string[]): string[] {
  const before = sentBefore(memory);
  const sent = memory.accepted?.body;
  if (!sent) return [...before];
  const has = optionalFields.filter((field) =>
    sent[field] === undefined ? before.includes(field) : sent[field] !== null,
  );
  return [...new Set([...has, ...kept])];
}

/**
 * The links to record. An hour after a creation without response, no request for it is still carried out, so the search
 * for copies ends. A copy that was not removed stays known as a copy.
 *
 * @param inLineAt when the order was read; undefined if anything about it failed.
 * @returns `isWatched`: the order must be checked again for copies.
 */
function watchedLines(links: readonly LineLink[], inLineAt: Date | undefined) {
  const isOver = ({ linkedAt = inLineAt }: LineLink) =>
    inLineAt !== undefined && linkedAt !== undefined && inLineAt.getTime() - linkedAt.getTime() >= lookAgainMs;
  const isOfCopies = ({ subOrderId, idsBefore }: LineLink) => subOrderId !== null && idsBefore !== null;
  const lines = links.map((one) => (isOfCopies(one) && isOver(one) ? { ...one, idsBefore: null } : one));
  return { lines, isWatched: lines.some(isOfCopies) };
}

/** One dead letter for the order as a whole, and one for each line: several requests about it may fail. */
function newDeadLetters({ code, raw: { order }, lines, faulty }: DesiredOrder, failures: readonly PushFailure[]) {
  const deadLetters = faulty.map(({ lineCode: _, ...one }): NewDeadLetter => ({ ...one, partOf: order }));
  for (const [lineCode, some] of Map.groupBy(failures, (one) => one.lineCode)) {
    const reason = [...new Set(some.map((one) => one.reason))].join('; ');
    if (lineCode === undefined) {
      const removals_held = some.find(({ held }) => held !== undefined)?.held;
      const payload = { order, lines, removals_held, kept: some.find(({ kept }) => kept)?.kept };
      deadLetters.push({ kind: 'order', key: code, orderCode: code, reason, payload });
    } else if (!faulty.some((one) => one.lineCode === lineCode)) {
      const content = lines.find((line) => line.lineCode === lineCode)?.content;
      const payload = { order_code: code, line_code: lineCode, content };
      const key = lineKey(code, lineCode);
      deadLetters.push({ kind: 'order_line', key, orderCode: code, reason, payload, partOf: order });
    }
  }
  return deadLetters;
}

/** What a push did, as the run counts it. @param isAbsent the service no longer has the order. */
export function countsOf({ order }: DesiredOrder, memory: OrderMemory, results: readonly Result[], isAbsent: boolean) {
  const done = (kind: Result['request']['kind']) => {
    const ofKind = results.filter(({ request, sent }) => request.kind === kind && sent.kind === 'done');
    return new Set(ofKind.map(({ request }) => 'lineCode' in request && request.lineCode)).size;
  };
  if (isAbsent) return results.some(({ request }) => request.kind === 'delete order') ? { orders_deleted: 1 } : {};
  if (memory.stop || !memory.accepted) return { orders_failed: 1 };
  const all: Counts = {
    orders_pushed: 1,
    orders_held: memory.held > 0 ? 1 : 0,
    orders_recreated: isMadeAgain(memory) ? 1 : 0,
    orders_failed: memory.failedDeletion ? 1 : 0,
    orders_deleted_kept: order.deletedAt && !memory.failedDeletion ? 1 : 0,
    sub_orders_changed: done('change'),
    sub_orders_removed: done('remove'),
    sub_orders_added: done('create'),
    lines_failed: new Set(memory.failures.map(({ lineCode }) => lineCode)).size,
  };
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count > 0));
}
