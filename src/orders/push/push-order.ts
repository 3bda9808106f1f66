import { addCounts, type Counts } from '../../base/counts.ts';
import { sleep } from '../../base/timeout.ts';
import { LeaseLostError } from '../../warehouse/leases.ts';
import { makeDue, type OrderLink, type OtherLease } from '../../warehouse/orders/order-links.ts';
import type { LeasedOrder, PushRecord } from '../../warehouse/orders/order-store.ts';
import { takeRemovals } from '../../warehouse/orders/removal-allowance.ts';
import {
  contactFields,
  firstDecision,
  isContactLeftToSync,
  mayCarryContact,
  type PushRights,
} from '../contact-rule.ts';
import { allowance, lookAgainMs } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { type DesiredOrder, sentFieldsAfter, whyNothing } from '../plan/desired-order.ts';
import { orderDifference } from '../plan/order-difference.ts';
import { otherOrderFault } from '../plan/same-order.ts';
import { isSameCode } from '../plan/same-value.ts';
import type { LineLink } from '../plan/sub-orders.ts';
import { type Breaker, keptThere, openRequests, type Requests } from '../requests.ts';
import { deleteOrder } from './delete-order.ts';
import { postOrder } from './post-order.ts';
import { errorRecord, isOfThisOrder, type PushFailure, pushRecord, toAllow } from './push-record.ts';
import { sendSubOrders } from './send-sub-orders.ts';

/** What the orders of one slice share. */
export type SlicePush = {
  rights: PushRights;
  /** The warehouse's clock just before the orders were read from the shop. */
  readAt: Date;
  /** The clock of ages, see ageClock. */
  now: () => Date;
  breaker: Breaker;
  /**
   * The order as it is in the shop now; undefined where the shop does not have it, or where it cannot be read or is another
   * order by now, which is recorded as a dead letter.
   */
  readAgain(code: string): Promise<DesiredOrder | undefined>;
};

export type PushOutcome =
  | { kind: 'ended'; counts: Counts }
  /** Another process is pushing this order: try again later. */
  | { kind: 'leased-elsewhere'; lease: OtherLease };

/**
 * Brings one order at the service in line with the shop (docs/interface.md, "Orders" and "Sub-orders").
 *
 * 1. Take the lease: from here on no other process pushes this order, and it is due until this push is recorded. The
 *    first lease decides about contact (promise 7).
 * 2. Read the order again if another process has pushed it since it was read, broke off a push of it, or may have
 *    deleted it. Stop where nothing is to be sent.
 * 3. Delete the order at the service if the shop has deleted it and that is allowed. One that must stay there goes on.
 *    So does one whose deletion is held back or refused, once: its contact is cleared (promise 7).
 * 4. POST the order. The response shows its sub-orders: their difference to the lines says what to send (promise 2).
 * 5. Take removals from the day's allowance (promise 6). Write down what is about to be created.
 * 6. Send. Where only another look shows the outcome, once more from 4.
 * 7. Record all of it in one transaction, which gives the lease back.
 *
 * Two processes may run it at the same time, and it may be killed at any step.
 *
 * @throws when a system fails: the client's errors, the database's, five orders in a row. A failure of this order is a
 *   dead letter: what the service refuses or fails on, a value that the warehouse refuses, and an unexpected error of
 *   this program.
 */
export async function pushOrder(deps: OrderDeps, given: DesiredOrder, slice: SlicePush): Promise<PushOutcome> {
  const { store } = deps;
  const { createdAt } = given.order;
  const leased = await store.lease({
    code: given.code,
    contact: firstDecision({ createdAt, now: slice.now() }, slice.rights),
    orderedAt: createdAt,
  });
  if ('leasedBy' in leased) return { kind: 'leased-elsewhere', lease: leased };
  using _heartbeat = store.keepAlive(leased);
  let desired: DesiredOrder | undefined;
  try {
    desired = isStale(leased, given, slice) ? await slice.readAgain(given.code) : given;
    const nothing = desired && whyNothing(desired, leased.isNew ? undefined : leased.link, slice.rights);
    if (!desired || nothing) {
      await store.release(leased, { isBrokenOff: false });
      const counted = nothing === 'unchanged' ? 'orders_unchanged' : 'orders_deleted_kept';
      return { kind: 'ended', counts: nothing ? { [counted]: 1 } : {} };
    }
    return { kind: 'ended', counts: await sendOrder(deps, leased, desired, slice) };
  } catch (error) {
    if (desired && isOfThisOrder(error)) {
      deps.log.error({ order: given.code, error, stack: error.stack }, 'unexpected error while pushing an order');
      await store.record(leased, errorRecord(leased, desired, error));
      return { kind: 'ended', counts: { orders_failed: 1 } };
    }
    // Ignore a failure: the lease runs out by itself.
    await store.release(leased, { isBrokenOff: true }).catch(() => {});
    if (!(error instanceof LeaseLostError)) throw error;
    const lease = { orderCode: given.code, leasedBy: 'another process', leasedUntil: slice.now() };
    return { kind: 'leased-elsewhere', lease };
  }
}

/**
 * Whether another process may have pushed a newer version since the order was read. Of one that it deleted at the
 * service nothing is remembered, so it looks like a new one. Of a push that broke off nobody knows what was sent; its
 * fingerprint counts as unknown. An order that is another one than the leased one by its date was read too early, or is
 * a dead letter.
 */
const isStale = ({ link, isNew }: LeasedOrder, { order }: DesiredOrder, { rights, readAt }: SlicePush): boolean => {
  if (isNew) return rights.deletes === 'send';
  if (otherOrderFault(order, link) !== undefined) return true;
  return link.fingerprint === null || link.pushedAt === null || link.pushedAt >= readAt;
};

/** Step 3, and the judgement of the outcome. @returns what was done. */
async function sendOrder(
  deps: OrderDeps,
  leased: LeasedOrder,
  desired: DesiredOrder,
  slice: SlicePush,
): Promise<Counts> {
  const attempt = slice.breaker.begin(leased.link.failedPushes > 0);
  const requests = openRequests(deps, () => deps.store.assertLease(leased));
  const deletion = desired.order.deletedAt ? await deleteOrder(deps, leased, requests, slice.rights) : undefined;
  if (deletion?.kind === 'deleted' || deletion?.kind === 'absent') {
    attempt.responded();
    // What was deleted at the service is forgotten; there is nothing to record.
    if (slice.rights.deletes === 'off') await deps.store.record(leased, pushRecord(leased, desired, []));
    return deletion.kind === 'deleted' ? { orders_deleted: 1 } : {};
  }
  if (deletion?.kind === 'kept' && deletion.failure && !mayHaveContact(leased.link)) {
    attempt.responded();
    await deps.store.record(leased, pushRecord(leased, desired, [deletion.failure]));
    return { orders_failed: 1 };
  }
  // An order that the service may have deleted is not sent: the POST would create it again.
  const outcome =
    deletion?.kind === 'unknown'
      ? { kind: 'failed' as const, ...deletion.failure }
      : await bringInLine(deps, leased, desired, requests, slice, attempt.responded);
  const notDeleted = deletion?.kind === 'kept' && deletion.failure ? [deletion.failure] : [];
  if (outcome.kind === 'failed') {
    if (outcome.failure === 'transient') attempt.failed(outcome.reason);
    else attempt.responded();
    const { orderId = leased.link.orderId } = outcome;
    await deps.store.record(leased, { ...pushRecord(leased, desired, [...notDeleted, outcome]), orderId });
    return { orders_failed: 1 };
  }
  const { failures, brought, counts } = outcome;
  await deps.store.record(leased, { ...pushRecord(leased, desired, [...notDeleted, ...failures]), ...brought });
  const lines = new Set(failures.flatMap(({ lineCode }) => lineCode ?? [])).size;
  const kept = notDeleted.length > 0 ? 'orders_failed' : 'orders_deleted_kept';
  return addCounts([counts, { ...(deletion && { [kept]: 1 }), ...(lines > 0 && { lines_failed: lines }) }]);
}

/** Whether a push of ours may have left contact at the service. Of one that was not recorded nobody knows. */
const mayHaveContact = ({ orderId, fingerprint, sentFields }: OrderLink) =>
  orderId === null || fingerprint === null || contactFields.some((field) => sentFields.includes(field));

/** Looks at the order: where the first leaves an outcome in doubt, the second sends again what it does not show. */
const looks = 2;

/** `orderId`: the order at the service that must not be changed, since it is another order's too. */
type NotInLine = { kind: 'failed'; orderId?: number } & PushFailure;

/** Two orders of the shop that are one at the service: nothing more is sent of either. `code`: of the other one. */
async function otherOrderAt(
  { store }: OrderDeps,
  orderId: number | null,
  orderCode: string,
): Promise<(NotInLine & { code: string }) | undefined> {
  const others = orderId === null ? [] : await store.otherCodesOf({ orderId, orderCode });
  const code = others.find((other) => isSameCode(other, orderCode));
  if (orderId === null || code === undefined) return undefined;
  const reason =
    `the service has one order for this code and for ${JSON.stringify(code)}: to it, codes that differ in case or spaces ` +
    'are one. Give them codes that differ otherwise';
  return { kind: 'failed', orderId, code, reason, failure: 'permanent' };
}

/** The service accepted the order; what is to be recorded of it. */
type InLine = { kind: 'accepted'; failures: PushFailure[]; brought: Partial<PushRecord>; counts: Counts };

/**
 * Steps 4 to 6.
 *
 * @param onAccepted called when the service has accepted the order. A line that fails says nothing about the service:
 *   many orders may have one bad product.
 */
async function bringInLine(
  deps: OrderDeps,
  leased: LeasedOrder,
  desired: DesiredOrder,
  requests: Requests,
  { rights, readAt, now }: SlicePush,
  onAccepted: () => void,
): Promise<InLine | NotInLine> {
  const { link } = leased;
  const asked = () => ({ decision: link.contact, createdAt: desired.order.createdAt, now: now() });
  const mayCarry = () => mayCarryContact(asked(), rights);
  const counts: Counts[] = [];
  const failures: PushFailure[] = [];
  let links = leased.lines as readonly LineLink[];
  let orderId = link.orderId;
  let doubts: ReadonlyMap<string, PushFailure> = new Map();
  const linkedOther = await otherOrderAt(deps, link.orderId, desired.code);
  if (linkedOther) return linkedOther;
  for (let look = 1; ; look += 1) {
    const posted = await postOrder(deps, requests, desired, link, mayCarry);
    if (posted.kind === 'failed') return posted;
    onAccepted();
    const other = posted.detail.id === orderId ? undefined : await otherOrderAt(deps, posted.detail.id, desired.code);
    if (other) {
      await makeDue(deps.db, [other.code]);
      return other;
    }
    const failed = failures.flatMap(({ lineCode }) => lineCode ?? []);
    const remembered = { link: { ...link, orderId }, lines: links };
    const rules = { withContact: mayCarry(), deletes: rights.deletes, isPosted: true };
    const { subOrders } = orderDifference(desired, posted.detail, remembered, rules, failed);
    orderId = posted.detail.id;

    const held = (await mayRemove(deps, desired, rights, subOrders.remove.length)) ? 0 : subOrders.remove.length;
    const isSaved = subOrders.links.length === links.length && subOrders.links.every((one) => links.includes(one));
    if (!isSaved) await deps.store.saveLines(leased, subOrders.links);
    const remove = held > 0 ? [] : subOrders.remove;
    const sent = await sendSubOrders(deps, requests, orderId, { ...subOrders, remove }, doubts);
    counts.push(sent.counts);
    failures.push(...sent.failures);
    ({ links, doubts } = sent);
    if (doubts.size > 0 && look < looks) {
      const isUnknown = [...doubts.values()].some(({ failure }) => failure === 'transient');
      if (isUnknown) await sleep(deps.limits.settleMs, deps.signal);
      continue;
    }

    failures.push(...[...doubts.values()].map((one) => ({ ...one, failure: 'transient' as const })));
    if (posted.notCleared.length > 0)
      failures.push({ reason: keptThere(posted.notCleared.join(', ')), failure: 'permanent' });
    if (held > 0) failures.push({ reason: heldReason(desired, held), failure: 'transient', held });
    // A service that was restored from a backup has made the order again: it has nothing of what was sent before.
    const isMadeAgain = link.orderId !== null && link.orderId !== orderId;
    const sentFields = [...sentFieldsAfter(isMadeAgain ? [] : link.sentFields, posted.sent), ...posted.notCleared];
    const { lines, isWatched } = watchedLines(links, failures.length === 0 ? readAt : undefined);
    // A backfill carries no contact. Where the order may have some, the regular sync pushes it once more.
    const hasContact = contactFields.some((field) => desired.body[field] !== undefined);
    const isContactLeft = hasContact && isContactLeftToSync(asked(), rights);
    counts.push({
      orders_pushed: 1,
      ...(held > 0 && { orders_held: 1 }),
      ...(isMadeAgain && { orders_recreated: 1 }),
    });
    return {
      kind: 'accepted',
      failures,
      counts: addCounts(counts),
      brought: {
        orderId,
        sentFields,
        lines,
        ...(failures.length === 0 && isWatched && { dueAfterMs: lookAgainMs }),
        ...(isContactLeft && { fingerprint: null, dueAfterMs: 0 }),
      },
    };
  }
}

/**
 * The links as they are recorded. An hour after a creation without response no request for it is carried out any more,
 * so nothing is looked for. A copy that could not be removed, or was not allowed to, stays known as one.
 *
 * @param inLineAt when the order was read, where nothing about it failed.
 * @returns `isWatched`: the order is to be looked at again for copies.
 */
function watchedLines(links: readonly LineLink[], inLineAt: Date | undefined) {
  const isOver = ({ linkedAt = inLineAt }: LineLink) =>
    inLineAt !== undefined && linkedAt !== undefined && inLineAt.getTime() - linkedAt.getTime() >= lookAgainMs;
  const isOfCopies = ({ subOrderId, idsBefore }: LineLink) => subOrderId !== null && idsBefore !== null;
  const lines = links.map((one) => (isOfCopies(one) && isOver(one) ? { ...one, idsBefore: null } : one));
  return { lines, isWatched: lines.some(isOfCopies) };
}

/**
 * Takes what is to be removed from the day's allowance. An order that loses all its lines at once loses none: that
 * looks like a fault of the query rather than like a purchase of nothing.
 */
const mayRemove = async (deps: OrderDeps, desired: DesiredOrder, rights: PushRights, removals: number) =>
  rights.allowRemovals || removals === 0 || (!isEmptied(desired) && (await takeRemovals(deps.db, removals, allowance)));

const isEmptied = ({ lines, waiting, faulty }: DesiredOrder): boolean =>
  lines.length + waiting.length + faulty.length === 0;

function heldReason(desired: DesiredOrder, held: number): string {
  return isEmptied(desired)
    ? 'the shop shows no line of the order any more, ' +
        `although the service has ${held} of its sub-orders; none was removed. ${toAllow}`
    : `${held} of its sub-orders are not removed although the shop does not show their lines any more: ` +
        `the removals of 24 hours are used up. ${toAllow}`;
}
