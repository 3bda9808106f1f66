import type { Counts } from '../../base/counts.ts';
import type { SubOrderPatch } from '../../review-api/index.ts';
import { fingerprint } from '../order/fingerprint.ts';
import type { LineChange, LineLink, SubOrderDifference } from '../order/sub-orders.ts';
import type { OrderDeps } from '../order-deps.ts';
import type { Send, Sent } from '../requests.ts';
import type { PushFailure } from './push-order.ts';

/** What to send, and what is remembered of the lines by now. */
type Plan = Pick<SubOrderDifference, 'matched' | 'remove' | 'keep' | 'create'> & {
  /** Sub-orders that may be removed. */
  granted: ReadonlySet<number>;
  links: ReadonlyMap<string, LineLink>;
  /** Codes of lines whose fields were sent empty by now; this function adds to it. */
  cleared: Set<string>;
  /** The last look: what was sent before without response, and why it is not known, is not sent once more. */
  doubts: ReadonlyMap<string, string> | undefined;
};

/** What the requests brought. */
export type SentSubOrders = {
  /** The link of each line that changed, by line code; undefined: it has none any more. */
  links: Map<string, LineLink | undefined>;
  failures: PushFailure[];
  /** Requests of which nobody knows whether they were carried out, or about records that do not exist. */
  unknown: PushFailure[];
  /** The order is to be looked at again: for those, and for fields that were sent empty. */
  mustLookAgain: boolean;
  counts: Counts;
};

/**
 * Sends the difference of one order's sub-orders (docs/interface.md, "Sub-orders"): first changes, then removals, then
 * creations. A line that the service refuses or fails on does not hold up the others.
 *
 * @throws the client's errors when the service as a whole fails.
 */
export async function sendSubOrders(
  { api, log }: OrderDeps,
  { write }: { write: Send },
  orderId: number,
  plan: Plan,
): Promise<SentSubOrders> {
  const { links, cleared } = plan;
  const brought: SentSubOrders = { links: new Map(), failures: [], unknown: [], mustLookAgain: false, counts: {} };
  const count = (kind: string) => {
    brought.counts[kind] = (brought.counts[kind] ?? 0) + 1;
  };
  /** Whether the request was carried out. What was not is noted. */
  const isDone = <T>(lineCode: string, sent: Sent<T>): sent is { kind: 'done'; value: T } => {
    if (sent.kind === 'done') return true;
    if (sent.kind === 'failed') brought.failures.push({ lineCode, reason: sent.reason, failure: sent.failure });
    else {
      const reason = sent.kind === 'unknown' ? sent.reason : 'the service answers 404 to a request about the line';
      brought.unknown.push({ lineCode, reason, failure: 'transient' });
      brought.mustLookAgain = true;
    }
    return false;
  };

  for (const { lineCode, subOrderId, content, patch, isHidden } of plan.matched) {
    if (Object.keys(patch).length === 0) {
      // A request whose response was lost has changed it, or somebody else.
      const link = links.get(lineCode);
      if (link && !isSameJson(link.content, content)) brought.links.set(lineCode, { ...link, content });
      continue;
    }
    const isEmptying = Object.values(patch).includes(null) && !isHidden;
    if (cleared.has(lineCode) && isEmptying) {
      brought.failures.push(notCleared(lineCode, subOrderId, patch));
      continue;
    }
    const update = (fields: SubOrderPatch) =>
      write((options) => api.subOrders.update(orderId, subOrderId, fields, options));
    const sent = await update(patch);
    // Where the service refuses empty values, the rest goes without them.
    const filled = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null));
    const isRefused = sent.kind === 'failed' && sent.failure === 'permanent';
    if (isRefused && isEmptying && Object.keys(filled).length > 0) await update(filled);
    // The sub-order is gone: the next look creates it again. One that the order shows all the same is looked at first.
    if (sent.kind === 'absent' && isHidden) brought.links.set(lineCode, undefined);
    if (!isDone(lineCode, sent)) continue;
    const link = links.get(lineCode);
    brought.links.set(lineCode, { isOurs: false, idsBefore: null, ...link, lineCode, subOrderId, content });
    count('sub_orders_changed');
    if (!isEmptying) continue;
    // The spec shows no way to clear a field of a sub-order: only reading it shows whether an empty value did.
    cleared.add(lineCode);
    brought.mustLookAgain = true;
  }

  for (const { lineCode, subOrderId } of plan.remove) {
    if (!plan.granted.has(subOrderId)) continue;
    const sent = await write((options) => api.subOrders.remove(orderId, subOrderId, options));
    if (!isDone(lineCode, sent)) continue;
    log.info({ orderId, line: lineCode, subOrderId }, 'removed a sub-order that the shop lacks');
    if (links.get(lineCode)?.subOrderId === subOrderId) brought.links.set(lineCode, undefined);
    count('sub_orders_removed');
  }
  for (const { lineCode, subOrderId, why } of plan.keep) {
    if (lineCode === null) continue;
    log.warn({ orderId, line: lineCode, subOrderId, why }, 'did not remove a sub-order that the shop lacks');
    count('sub_orders_kept');
  }

  for (const { lineCode, content, isSentAgain } of plan.create) {
    const reason = isSentAgain ? plan.doubts?.get(lineCode) : undefined;
    if (reason !== undefined) {
      brought.failures.push({ lineCode, reason, failure: 'transient' });
      continue;
    }
    const sent = await write((options) => api.subOrders.create(orderId, content, options));
    // A refused creation created nothing: no sub-order that appears later is this line's, unless an earlier request
    // made it.
    if (sent.kind === 'failed' && sent.failure === 'permanent' && !isSentAgain) brought.links.set(lineCode, undefined);
    if (!isDone(lineCode, sent)) continue;
    const idsBefore = isSentAgain ? (links.get(lineCode)?.idsBefore ?? null) : null;
    const linkedAt = links.get(lineCode)?.linkedAt;
    const link = { lineCode, subOrderId: sent.value.id, content, isOurs: true, idsBefore };
    brought.links.set(lineCode, linkedAt ? { ...link, linkedAt } : link);
    count('sub_orders_added');
  }
  return brought;
}

const isSameJson = (a: unknown, b: unknown) => fingerprint(a) === fingerprint(b);

function notCleared(lineCode: string, subOrderId: number, patch: LineChange['patch']): PushFailure {
  const fields = Object.entries(patch).flatMap(([field, value]) => (value === null ? [field] : []));
  const reason =
    `the service keeps ${fields.join(', ')} of sub-order ${subOrderId} although the shop has none ` +
    'and an empty value was sent; clear it there by hand';
  return { lineCode, reason, failure: 'permanent' };
}
