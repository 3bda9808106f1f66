import { addCounts, type Counts } from '../../base/counts.ts';
import { describeError } from '../../base/errors.ts';
import { sleep } from '../../base/timeout.ts';
import { waitingFor } from '../../base/waits.ts';
import { isAboutData } from '../../warehouse/batch.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import { LeaseLostError } from '../../warehouse/leases.ts';
import type { OtherLease } from '../../warehouse/orders/order-links.ts';
import type { LeasedOrder, PushRecord } from '../../warehouse/orders/order-store.ts';
import { type FailureKind, lookAgainMs, retryDelayMs } from '../backoff.ts';
import { ageOf, type ContactPolicy, contactFields, firstDecision, mayCarryContact } from '../order/contact-rule.ts';
import {
  type DesiredOrder,
  isNotForService,
  isUnchanged,
  lineKey,
  type PushPolicy,
  sentFieldsAfter,
} from '../order/desired-order.ts';
import { orderDifference } from '../order/order-difference.ts';
import type { LineLink } from '../order/sub-orders.ts';
import type { OrderDeps } from '../order-deps.ts';
import { type Breaker, openRequests, ServiceDownError } from '../requests.ts';
import { deleteOrder } from './delete-order.ts';
import { postOrder } from './post-order.ts';
import { sendSubOrders } from './send-sub-orders.ts';

/** What the orders of one slice share. */
export type SlicePush = {
  policy: PushPolicy;
  /** The warehouse's clock just before the orders were read from the shop. */
  readAt: Date;
  /** The clock of ages, see ageClock. */
  now: () => Date;
  breaker: Breaker;
  /** The order as it is in the shop now; undefined where the shop does not have it, or it cannot be read. */
  readAgain(code: string): Promise<DesiredOrder | undefined>;
};

export type PushOutcome =
  | { kind: 'ended'; counts: Counts }
  /** Another process is pushing this order: try again later. */
  | { kind: 'leased-elsewhere'; lease: OtherLease };

/** What could not be done; `lineCode` undefined: of the order as a whole. `held`: removals that were not allowed. */
export type PushFailure = { lineCode?: string; reason: string; failure: FailureKind; held?: number };

/** Times that an order is sent and compared, where the outcome of a request about it is not known. */
const rounds = 3;

/**
 * Brings one order at the service in line with the shop (docs/interface.md, "Orders" and "Sub-orders").
 *
 * 1. Take the lease: from here on no other process pushes this order, and it is due until this push is recorded. The
 *    first lease decides about contact (promise 7).
 * 2. Read the order again if another process has pushed it since it was read, broke off a push of it, or may have
 *    deleted it.
 * 3. Stop where nothing is to be sent. Delete the order at the service if the shop has deleted it and that is allowed.
 * 4. POST the order. The response shows its sub-orders: their difference to the lines says what to send (promise 2).
 * 5. Take removals from the day's allowance (promise 6). Write down what is about to be created.
 * 6. Send. Where an outcome is not known, look again, from 4.
 * 7. Record all of it in one transaction, which gives the lease back.
 *
 * Two processes may run it at the same time, and it may be killed at any step.
 *
 * @throws when a system fails: the client's errors, the database's, five orders in a row. A failure of this order is a
 *   dead letter: what the service refuses or fails on, a value that the warehouse refuses, and an unexpected error of
 *   this program.
 */
export async function pushOrder(deps: OrderDeps, given: DesiredOrder, slice: SlicePush): Promise<PushOutcome> {
  const leased = await deps.store.lease(given.code, {
    contact: firstDecision(ageOf(given.order.createdAt, slice.now(), deps.contactMaxAgeDays), slice.policy.contact),
    orderedAt: given.order.createdAt,
  });
  if ('leasedBy' in leased) return { kind: 'leased-elsewhere', lease: leased };
  using _heartbeat = deps.store.keepAlive(leased);
  let desired: DesiredOrder | undefined;
  try {
    desired = isStale(deps, leased, slice.readAt) ? await slice.readAgain(given.code) : given;
    const nothing = whyNothing(leased, desired, slice.policy);
    if (!desired || nothing) {
      await deps.store.release(leased);
      return ended(nothing ? { [nothing]: 1 } : {});
    }
    return ended(await sendOrder(deps, leased, desired, slice));
  } catch (error) {
    if (desired && isOfThisOrder(error)) {
      await recordError(deps, leased, desired, error);
      return ended({ orders_failed: 1 });
    }
    // Ignore a failure: the lease runs out by itself.
    await deps.store.breakOff(leased).catch(() => {});
    if (!(error instanceof LeaseLostError)) throw error;
    const lease = { orderCode: given.code, leasedBy: 'another process', leasedUntil: slice.now() };
    return { kind: 'leased-elsewhere', lease };
  }
}

const ended = (counts: Counts): PushOutcome => ({ kind: 'ended', counts });

/**
 * Whether another process may have pushed a newer version since the order was read. Of one that it deleted at the
 * service nothing is remembered, so it looks like a new one. Of a push that broke off nobody knows what was sent; its
 * fingerprint counts as unknown.
 */
const isStale = ({ deletes }: OrderDeps, { link, isNew }: LeasedOrder, readAt: Date): boolean => {
  if (isNew) return deletes === 'send';
  return link.fingerprint === null || link.pushedAt === null || link.pushedAt >= readAt;
};

/** What the order counts as where nothing is to be sent. */
function whyNothing({ link, isNew }: LeasedOrder, desired: DesiredOrder | undefined, policy: PushPolicy) {
  if (!desired) return undefined;
  if (isUnchanged(desired, link, policy)) return 'orders_unchanged';
  return isNotForService(desired, isNew ? undefined : link) ? 'orders_deleted_kept' : undefined;
}

/** Steps 3 to 7. @returns what was done. */
async function sendOrder(
  deps: OrderDeps,
  leased: LeasedOrder,
  desired: DesiredOrder,
  slice: SlicePush,
): Promise<Counts> {
  const { link } = leased;
  const { policy, breaker } = slice;
  const attempt = breaker.begin();
  const requests = openRequests(deps, {
    hasFailedBefore: link.failedPushes > 0,
    beforeWrite: () => deps.store.assertLease(leased),
  });
  const mayCarryUnder = (contact: ContactPolicy) =>
    mayCarryContact(link.contact, ageOf(desired.order.createdAt, slice.now(), deps.contactMaxAgeDays), contact);
  const mayCarry = () => mayCarryUnder(policy.contact);
  const counts: Counts[] = [];
  const failures: PushFailure[] = [];

  const record = async (push: Partial<PushRecord>): Promise<Counts> => {
    // A line that fails says nothing about the service, which has accepted its order: many orders may have one bad
    // product.
    const transient = failures.find(
      ({ lineCode, failure, held }) => lineCode === undefined && failure === 'transient' && held === undefined,
    );
    // Nor does an order that failed before.
    if (transient && link.failedPushes === 0) breaker.failed(attempt, transient.reason);
    if (!transient) breaker.succeeded(attempt);
    // The service is down: that is no failure of this order, which stays due.
    if (transient && breaker.opened !== undefined) throw new ServiceDownError(breaker.opened);
    await deps.store.record(leased, { ...recordOf(leased, desired, failures), ...push });
    const lines = new Set(failures.flatMap(({ lineCode }) => lineCode ?? [])).size;
    return addCounts([...counts, ...(lines > 0 ? [{ lines_failed: lines }] : [])]);
  };

  if (desired.order.deletedAt) {
    const deletion = await deleteOrder(deps, leased, requests, { isWanted: deps.deletes === 'send', policy });
    if (deletion.kind === 'deleted') return { orders_deleted: 1 };
    if (deletion.kind === 'absent') return deps.deletes === 'send' ? {} : record({ waiting: [], deadLetters: [] });
    if (deletion.kind === 'failed') {
      failures.push(deletion);
      counts.push({ orders_failed: 1 });
      return record({});
    }
    counts.push({ orders_deleted_kept: 1 });
  }

  const links = new Map((leased.lines as readonly LineLink[]).map((one) => [one.lineCode, one]));
  const granted = new Set<number>();
  const cleared = new Set<string>();
  /** Codes of lines that have a link in the warehouse. */
  const written = new Set(links.keys());
  let known = link;
  let doubts = new Map<string, string>();
  let held = 0;
  for (let round = 1; ; round += 1) {
    const posted = await postOrder(deps, requests, desired, link, mayCarry);
    if (posted.kind === 'failed') {
      failures.push(posted);
      counts.push({ orders_failed: 1 });
      return record({});
    }
    const { detail } = posted;
    const failed = new Set(failures.flatMap(({ lineCode }) => lineCode ?? []));
    const remembered = { link: known, lines: [...links.values()] };
    const rules = { withContact: mayCarry(), deletes: deps.deletes };
    const { subOrders } = orderDifference(desired, detail, remembered, rules, failed);
    known = { ...link, orderId: detail.id };

    held = await grantRemovals(deps, desired, policy, subOrders.remove, granted);
    const before = { lines: subOrders.links, dropLinks: subOrders.dropLinks };
    if (before.lines.length + before.dropLinks.length > 0) await deps.store.saveLines(leased, before);
    for (const { lineCode } of before.lines) written.add(lineCode);
    const found = subOrders.links.filter((one) => isFound(one, links)).length;
    if (found > 0) counts.push({ sub_orders_added: found });
    for (const lineCode of subOrders.dropLinks) links.delete(lineCode);
    for (const one of subOrders.links) links.set(one.lineCode, one);

    const sent = await sendSubOrders(deps, requests, detail.id, {
      ...subOrders,
      granted,
      links,
      cleared,
      doubts: round === rounds ? doubts : undefined,
    });
    counts.push(sent.counts);
    doubts = new Map(sent.unknown.map(({ lineCode = '', reason }) => [lineCode, reason]));
    for (const [lineCode, after] of sent.links) after ? links.set(lineCode, after) : links.delete(lineCode);
    failures.push(...sent.failures, ...(round === rounds ? sent.unknown : []));
    if (sent.mustLookAgain && round < rounds) {
      if (sent.unknown.length > 0) await waitingFor('outage', () => sleep(deps.patience.settleMs * round, deps.signal));
      continue;
    }
    if (posted.notCleared.length > 0) failures.push({ reason: notCleared(posted.notCleared), failure: 'permanent' });
    if (held > 0) failures.push({ reason: heldReason(desired, held), failure: 'transient', held });
    const isMadeAgain = isAnotherId(leased, detail.id);
    counts.push({
      orders_pushed: 1,
      ...(held > 0 && { orders_held: 1 }),
      ...(isMadeAgain && { orders_recreated: 1 }),
    });
    // A copy that could not be removed, or was not allowed to, stays known as one.
    const isOver = (one: LineLink) => failures.length === 0 && isWatchOver(one, slice.readAt);
    const after = [...links.values()].map((one) => (isOver(one) ? { ...one, idsBefore: null } : one));
    const isWatched = after.some(({ subOrderId, idsBefore }) => subOrderId !== null && idsBefore !== null);
    // A backfill carries no contact. Where the order may have some, the regular sync pushes it once more.
    const hasContact = contactFields.some((field) => desired.body[field] !== undefined);
    const isContactLeft = policy.contact === 'never' && hasContact && mayCarryUnder('young');
    return record({
      orderId: detail.id,
      // An order that the service has made again holds nothing of what was sent before.
      sentFields: [...sentFieldsAfter(isMadeAgain ? [] : link.sentFields, posted.sent), ...posted.notCleared],
      lines: after.filter((one) => !leased.lines.includes(one)),
      dropLinks: [...written].filter((lineCode) => !links.has(lineCode)),
      ...(failures.length === 0 && isWatched && { dueAfterMs: lookAgainMs }),
      ...(isContactLeft && { fingerprint: null, dueAfterMs: 0 }),
    });
  }
}

/** Whether a creation whose response was lost has been found. */
const isFound = ({ lineCode, subOrderId, isOurs }: LineLink, before: ReadonlyMap<string, LineLink>): boolean =>
  isOurs && subOrderId !== null && before.get(lineCode)?.subOrderId === null;

/** A service that was restored from a backup has made the order again. */
const isAnotherId = ({ link }: LeasedOrder, id: number): boolean => link.orderId !== null && link.orderId !== id;

/** A creation without response of an hour ago: none of its requests is carried out any more. */
const isWatchOver = ({ subOrderId, idsBefore, linkedAt }: LineLink, readAt: Date): boolean =>
  subOrderId !== null &&
  idsBefore !== null &&
  linkedAt !== undefined &&
  readAt.getTime() - linkedAt.getTime() >= lookAgainMs;

/**
 * Takes what is to be removed from the day's allowance, into `granted`. An order that loses all its lines at once loses
 * none: that looks like a fault of the query rather than like a purchase of nothing.
 *
 * @returns how many sub-orders stay.
 */
async function grantRemovals(
  deps: OrderDeps,
  desired: DesiredOrder,
  { allowRemovals }: PushPolicy,
  remove: readonly { subOrderId: number }[],
  granted: Set<number>,
): Promise<number> {
  const wanted = remove.filter(({ subOrderId }) => !granted.has(subOrderId));
  const isAllowed = allowRemovals || (!isEmptied(desired) && (await deps.takeRemovals(wanted.length)));
  if (!isAllowed) return wanted.length;
  for (const { subOrderId } of wanted) granted.add(subOrderId);
  return 0;
}

const isEmptied = ({ lines, waiting, faulty }: DesiredOrder): boolean =>
  lines.length + waiting.length + faulty.length === 0;

function heldReason(desired: DesiredOrder, held: number): string {
  const allow = 'If that is right, run: npx review-sync sync orders --allow-removals';
  return isEmptied(desired)
    ? 'the shop shows no line of the order any more, ' +
        `although the service has ${held} of its sub-orders; none was removed. ${allow}`
    : `${held} of its sub-orders are not removed although the shop does not show their lines any more: ` +
        `the removals of 24 hours are used up. ${allow}`;
}

const notCleared = (fields: readonly string[]) =>
  `the service keeps ${fields.join(', ')} although the shop has none and an empty value was sent; ` +
  'clear it there by hand';

/** What to record of a push that the service did not accept; pushOrder adds what an accepted one brought. */
function recordOf({ link }: LeasedOrder, desired: DesiredOrder, failures: readonly PushFailure[]): PushRecord {
  const { order, body } = desired;
  const { waiting, faulty } = unfinished(desired);
  const kinds: FailureKind[] = [...failures.map(({ failure }) => failure), ...faulty.map(() => 'transient' as const)];
  const failedPushes = kinds.length === 0 ? 0 : link.fingerprint === desired.fingerprint ? link.failedPushes + 1 : 1;
  const kind = kinds.includes('transient') ? 'transient' : 'permanent';
  return {
    orderId: link.orderId,
    fingerprint: desired.fingerprint,
    sentFields: link.sentFields,
    failedPushes,
    dueAfterMs: failedPushes === 0 ? null : retryDelayMs(kind, failedPushes),
    userGradeCode: order.userGradeCode,
    userGradeId: body.user_grade_id ?? undefined,
    orderedAt: order.createdAt,
    lines: [],
    dropLinks: [],
    waiting,
    deadLetters: deadLettersOf(desired, failures),
  };
}

/**
 * Lines that are still to be sent. Of an order that the shop has deleted nobody will correct a line, or wait for its
 * product.
 */
const unfinished = ({ order, waiting, faulty }: DesiredOrder): Pick<DesiredOrder, 'waiting' | 'faulty'> =>
  order.deletedAt ? { waiting: [], faulty: [] } : { waiting, faulty };

function deadLettersOf(desired: DesiredOrder, failures: readonly PushFailure[]): NewDeadLetter[] {
  const { code, order, lines } = desired;
  const { faulty } = unfinished(desired);
  const ofOrder = failures.filter(({ lineCode }) => lineCode === undefined);
  const reasons = [...new Set(ofOrder.map(({ reason }) => reason))];
  const held = ofOrder.find((one) => one.held !== undefined)?.held;
  const payload = { order, lines, ...(held !== undefined && { removals_held: held }) };
  return [
    ...(reasons.length > 0
      ? [{ kind: 'order' as const, key: code, order_code: code, reason: reasons.join('; '), payload }]
      : []),
    ...faulty.map(({ lineCode: _, ...deadLetter }) => ({ ...deadLetter, partOf: order })),
    ...[...Map.groupBy(failures, ({ lineCode }) => lineCode)].flatMap(([lineCode, ofLine]): NewDeadLetter[] => {
      // One dead letter a line: the removals of several copies of its sub-order may fail.
      if (lineCode === undefined || faulty.some((one) => one.lineCode === lineCode)) return [];
      const content = lines.find((line) => line.lineCode === lineCode)?.content;
      const payload = { order_code: code, line_code: lineCode, content };
      const reason = [...new Set(ofLine.map((one) => one.reason))].join('; ');
      return [{ kind: 'order_line', key: lineKey(code, lineCode), order_code: code, reason, payload, partOf: order }];
    }),
  ];
}

/**
 * Whether the error is this order's alone: a value that the warehouse refuses, or an error of this program, such as an
 * argument that the client refuses. The other orders go on.
 */
const isOfThisOrder = (error: unknown): error is Error =>
  isAboutData(error) || error instanceof TypeError || error instanceof RangeError;

/** Makes the order a dead letter, and logs the error with its stack: somebody has to look at it. */
async function recordError(
  { store, log }: OrderDeps,
  leased: LeasedOrder,
  desired: DesiredOrder,
  error: Error,
): Promise<void> {
  log.error({ order: desired.code, error, stack: error.stack }, 'unexpected error while pushing an order');
  // The database's message may quote the value.
  const what = isAboutData(error) ? 'the warehouse refuses one of its values' : describeError(error);
  const failure: PushFailure = { reason: `the order cannot be sent or recorded: ${what}`, failure: 'permanent' };
  // Without a value of the order, which may be what the warehouse refuses.
  const { code } = desired;
  const bare: DesiredOrder = { ...desired, lines: [], waiting: [], faulty: [] };
  const deadLetters = deadLettersOf(bare, [failure]).map((one) => ({ ...one, payload: { order: { code } } }));
  await store.record(leased, {
    ...recordOf(leased, bare, [failure]),
    orderedAt: null,
    userGradeCode: undefined,
    deadLetters,
  });
}
