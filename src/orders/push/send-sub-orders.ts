import { isDeepStrictEqual } from 'node:util';
import type { Counts } from '../../base/counts.ts';
import type { SubOrderPatch } from '../../review-api/index.ts';
import type { OrderDeps } from '../order-deps.ts';
import type { LineLink, SubOrderDifference } from '../plan/sub-orders.ts';
import { keptThere, type Requests, type Sent } from '../requests.ts';
import type { PushFailure } from './push-record.ts';

/** What the requests brought. */
export type SentSubOrders = {
  /** All line links of the order after the requests. */
  links: LineLink[];
  failures: PushFailure[];
  /**
   * Failures that only another look at the order confirms or refutes, by line code: a request of which nobody knows
   * whether it was carried out, a 404, a field that was sent empty.
   */
  doubts: Map<string, PushFailure>;
  counts: Counts;
};

/**
 * Sends the difference of one order's sub-orders (docs/interface.md, "Sub-orders"): first changes, then removals, then
 * creations. A line that the service refuses or fails on does not hold up the others.
 *
 * @param before the doubts of the look before.
 * @throws the client's errors when the service as a whole fails.
 */
export async function sendSubOrders(
  { api, log }: OrderDeps,
  { write }: Requests,
  orderId: number,
  difference: SubOrderDifference,
  before: ReadonlyMap<string, PushFailure>,
): Promise<SentSubOrders> {
  const links = new Map(difference.links.map((one) => [one.lineCode, one]));
  const failures: PushFailure[] = [];
  const doubts = new Map<string, PushFailure>();
  const counts: Counts = {};
  const count = (kind: string) => {
    counts[kind] = (counts[kind] ?? 0) + 1;
  };
  /** Whether the request was carried out. What was not is noted. */
  const isDone = <T>(lineCode: string, sent: Sent<T>): sent is { kind: 'done'; value: T } => {
    if (sent.kind === 'failed') failures.push({ lineCode, reason: sent.reason, failure: sent.failure });
    else if (sent.kind !== 'done') {
      const reason = sent.kind === 'unknown' ? sent.reason : 'the service answers 404 to a request about the line';
      doubts.set(lineCode, { lineCode, reason, failure: 'transient' });
    }
    return sent.kind === 'done';
  };

  for (const { lineCode, subOrderId, content, patch, isHidden } of difference.matched) {
    const link = links.get(lineCode) as LineLink;
    // Where nothing is sent, a request whose response was lost may have changed it, or somebody else.
    const changed = isDeepStrictEqual(link.content, content) ? link : { ...link, content };
    const isEmptying = !isHidden && Object.values(patch).includes(null);
    const doubt = before.get(lineCode);
    if (Object.keys(patch).length === 0) {
      links.set(lineCode, changed);
      continue;
    }
    if (isEmptying && doubt?.failure === 'permanent') {
      failures.push(doubt);
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
    if (sent.kind === 'absent' && isHidden) links.delete(lineCode);
    if (!isDone(lineCode, sent)) continue;
    links.set(lineCode, changed);
    count('sub_orders_changed');
    // The spec shows no way to clear a field of a sub-order: only reading it shows whether an empty value did.
    if (isEmptying) doubts.set(lineCode, notCleared(lineCode, subOrderId, patch));
  }

  for (const { lineCode, subOrderId } of difference.remove) {
    const sent = await write((options) => api.subOrders.remove(orderId, subOrderId, options));
    if (!isDone(lineCode, sent)) continue;
    log.info({ orderId, line: lineCode, subOrderId }, 'removed a sub-order that the shop lacks');
    if (links.get(lineCode)?.subOrderId === subOrderId) links.delete(lineCode);
    count('sub_orders_removed');
  }
  for (const { lineCode, subOrderId, why } of difference.keep) {
    if (lineCode === null) continue;
    log.warn({ orderId, line: lineCode, subOrderId, why }, 'did not remove a sub-order that the shop lacks');
    count('sub_orders_kept');
  }

  for (const { lineCode, content, isSentAgain } of difference.create) {
    const sent = await write((options) => api.subOrders.create(orderId, content, options));
    // A refused creation created nothing: no sub-order that appears later is this line's, unless an earlier request
    // made it.
    if (sent.kind === 'failed' && sent.failure === 'permanent' && !isSentAgain) links.delete(lineCode);
    if (!isDone(lineCode, sent)) continue;
    const link = links.get(lineCode) as LineLink;
    links.set(lineCode, { ...link, subOrderId: sent.value.id, idsBefore: isSentAgain ? link.idsBefore : null });
    count('sub_orders_added');
  }
  return { links: [...links.values()], failures, doubts, counts };
}

function notCleared(lineCode: string, subOrderId: number, patch: SubOrderPatch): PushFailure {
  const fields = Object.entries(patch).flatMap(([field, value]) => (value === null ? [field] : []));
  return { lineCode, reason: keptThere(`${fields.join(', ')} of sub-order ${subOrderId}`), failure: 'permanent' };
}
