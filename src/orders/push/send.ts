import { isSameCode } from '../../base/codes.ts';
import type { CallOptions, OrderBody, OrderDetail, ReviewApi } from '../../review-api/index.ts';
import { isOfAnother } from '../../warehouse/orders/order-links.ts';
import { looksAtMost } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { alikeFault } from '../plan/desired-order.ts';
import type { OrderMemory, PushFailure, Shown } from '../plan/order-memory.ts';
import { emptyFields, isRemoval, type OrderRequest, type PlannedRequests } from '../plan/plan-order.ts';
import type { LineLink, LineRequest } from '../plan/sub-orders.ts';
import { absent, type Send, type Sent } from '../requests.ts';

/** How a request ended. The value of a done `find` or `post order` is an OrderDetail, that of a `create` has its id. */
type ResultOf<Request> = { request: Request; sent: Sent<unknown> };
type LineResult = ResultOf<LineRequest>;
export type Result = ResultOf<Exclude<OrderRequest, LineRequest>> | LineResult;

/**
 * Sends requests about one order, one after the other. If the service refuses or fails on a line, the other lines go
 * on. If a request about the order itself was not done, or showed another order than the planned one, the rest is not
 * sent: the service may have lost the order, and given its id to another one.
 *
 * @throws the client's errors when the service as a whole fails.
 */
export async function sendAll(deps: OrderDeps, code: string, planned: PlannedRequests, sendOne: Send) {
  const { api, log } = deps;
  const results: Result[] = [];
  const { orderId } = planned.memory;
  for (const request of planned.requests) {
    const wire = request.kind === 'find' ? undefined : wireOf(request, orderId);
    const answer: Sent<unknown> = wire
      ? await sendOne((options) => wire.call(api, options))
      : await findOrder(deps, { code, orderId }, sendOne);
    // A 404 to a removal. The next look tells whether the record is gone, or the service has no such endpoint.
    const sent: Sent<unknown> = answer.kind === 'done' && answer.value === false ? absent : answer;
    results.push({ request, sent } as Result);
    if (sent.kind === 'done' && isRemoval(request))
      log.info({ order: code, path: wire?.path }, 'removed at the service what the shop lacks');
    if ('lineCode' in request) continue;
    if (sent.kind !== 'done') break;
    const shown = request.kind === 'post order' ? (sent.value as OrderDetail) : undefined;
    if (shown && (shown.id !== orderId || !isSameCode(shown.code, code))) break;
  }
  return results;
}

/** A request as it goes over the wire, and how the client sends it. `:order_id`: the id that the service gives. */
export function wireOf(request: Exclude<OrderRequest, { kind: 'find' }>, orderId: number | null | undefined) {
  const path = '/v1/orders';
  const ofOrder = `${path}/${orderId ?? ':order_id'}`;
  const ofLine = 'subOrderId' in request ? `${ofOrder}/sub_orders/${request.subOrderId}` : `${ofOrder}/sub_orders`;
  // Requests with the id follow once the service has shown the order.
  const id = orderId as number;
  type Call = (api: ReviewApi, options: CallOptions) => Promise<unknown>;
  const wire = (method: string, to: string, body: object | undefined, call: Call) => ({ method, path: to, body, call });
  switch (request.kind) {
    case 'post order':
      return wire('POST', path, request.body, ({ orders }, options) => orders.upsert(request.body, options));
    case 'delete order':
      return wire('DELETE', ofOrder, undefined, ({ orders }, options) => orders.remove(id, options));
    case 'change': {
      const { subOrderId, body } = request;
      return wire('PUT', ofLine, body, ({ subOrders }, options) => subOrders.update(id, subOrderId, body, options));
    }
    case 'remove': {
      const { subOrderId } = request;
      return wire('DELETE', ofLine, undefined, ({ subOrders }, options) => subOrders.remove(id, subOrderId, options));
    }
    case 'create': {
      const { body } = request;
      return wire('POST', ofLine, body, ({ subOrders }, options) => subOrders.create(id, body, options));
    }
    default:
      return request satisfies never;
  }
}

/**
 * Looks the order up by its id, then by its code. The response to the push that created it may have been lost, or the
 * service may have created it again under another id, and given its id to another order. If the service does not look
 * orders up by code, the result of the id counts. If it shows the order of another code of the shop, such as this
 * order's new code, it has lost this one. No order is created to learn its id.
 */
export async function findOrder(
  { api: { orders }, db }: OrderDeps,
  { code, orderId }: { code: string; orderId: number | null | undefined },
  sendOne: Send,
): Promise<Sent<OrderDetail>> {
  const known = orderId ? await sendOne((options) => orders.get(orderId, options)) : undefined;
  const shownCode = known?.kind === 'done' ? known.value.code : undefined;
  const isOurs = shownCode !== undefined && isSameCode(shownCode, code);
  if (known && (isOurs || (known.kind !== 'done' && known.kind !== 'absent'))) return known;
  const found = await sendOne((options) => orders.getByCode(code, options));
  const isOther = found.kind === 'done' && !isSameCode(found.value.code, code);
  if (known && (isOther || found.kind === 'failed')) return absent;
  if (known && found.kind === 'done' && (await isOfAnother(db, code, found.value.id))) return absent;
  if (isOther) return { kind: 'failed', reason: alikeFault(found.value.code), failure: 'permanent' };
  if (found.kind !== 'failed') return found;
  return { ...found, reason: `the service does not look orders up by code: ${found.reason}` };
}

const isOfLine = (result: Result): result is LineResult => 'lineCode' in result.request;

/**
 * The memory after requests were sent, and the order as the service shows it now. Pure.
 *
 * If a request about a line has no certain outcome, another look is needed. After the last look, the line has failed.
 *
 * @param before what the service showed when the requests were planned.
 * @returns `shown` undefined: every request about a line has a certain outcome, and nothing more is to be planned.
 */
export function learn(planned: PlannedRequests, before: Shown, results: readonly Result[]) {
  let { memory } = planned;
  let shown = before;
  const lines = new Map(memory.lines.map((link) => [link.lineCode, link]));
  const failures: PushFailure[] = [];
  const doubts: PushFailure[] = [];
  for (const result of results) {
    if (!isOfLine(result)) {
      ({ memory, shown } = learnOfOrder(memory, shown, result));
      continue;
    }
    const { sent, request } = result;
    const { lineCode } = request;
    const link = lines.get(lineCode);
    const after = link && linkAfter(link, result);
    if (after) lines.set(lineCode, after);
    else lines.delete(lineCode);
    if (sent.kind !== 'done') (sent.kind === 'failed' ? failures : doubts).push({ lineCode, ...failureOf(sent) });
  }
  memory = { ...memory, lines: [...lines.values()], failures: [...memory.failures, ...failures] };
  if (doubts.length > 0 && memory.looks < looksAtMost && memory.stop === undefined)
    return { memory: { ...memory, looks: memory.looks + 1 }, shown: 'unknown' as const };
  memory = { ...memory, failures: [...memory.failures, ...doubts] };
  const last = results.at(-1);
  return { memory, shown: last && !isOfLine(last) ? shown : undefined };
}

type Known = { memory: OrderMemory; shown: Shown };

function learnOfOrder(memory: OrderMemory, shown: Shown, { request, sent }: Exclude<Result, LineResult>): Known {
  switch (request.kind) {
    case 'find':
      if (sent.kind === 'done') return { memory, shown: sent.value as OrderDetail };
      if (sent.kind === 'absent') return { memory, shown: 'absent' };
      return { memory: { ...memory, stop: memory.failedDeletion ?? failureOf(sent) }, shown };
    case 'delete order': {
      if (sent.kind === 'done') return { memory, shown: 'absent' };
      const failure = failureOf(sent);
      if (sent.isRefused) return { memory: { ...memory, failedDeletion: failure }, shown };
      // A service that responds with 500 may have deleted the order, or may delete it later.
      const failedDeletion = sent.kind === 'absent' ? failure : { ...failure, isUnknown: true as const };
      return { memory: { ...memory, failedDeletion }, shown: 'unknown' };
    }
    case 'post order': {
      const { accepted, refused } = memory;
      if (sent.kind === 'done') {
        const detail = sent.value as OrderDetail;
        return { memory: { ...memory, accepted: { body: request.body, detail } }, shown: detail };
      }
      // If the service accepted an empty value before, it now refuses something else.
      const empty = emptyFields(request.body).filter((field) => accepted?.body[field as keyof OrderBody] !== null);
      const isRefused = empty.length > 0 && (sent.failure === 'permanent' || accepted !== undefined);
      const failure = isRefused ? { refused: [...refused, ...empty] } : { stop: failureOf(sent) };
      return { memory: { ...memory, ...failure }, shown };
    }
    default:
      return request satisfies never;
  }
}

/** The link of the line after the request. Undefined: nothing is remembered. */
function linkAfter(link: LineLink, { request, sent }: LineResult): LineLink | undefined {
  const isDone = sent.kind === 'done';
  switch (request.kind) {
    case 'change':
      if (isDone) return { ...link, content: request.content };
      // If a hidden sub-order is gone (404), the next plan creates it again. If the order showed it, look first.
      return sent.kind === 'absent' && request.isHidden ? undefined : link;
    case 'remove':
      return isDone && link.subOrderId === request.subOrderId ? undefined : link;
    case 'create': {
      if (isDone) {
        const { id } = sent.value as { id: number };
        const isSentOnce = !request.isSentAgain && sent.attempts === 1;
        return { ...link, subOrderId: id, idsBefore: isSentOnce ? null : link.idsBefore };
      }
      // A refused creation created nothing. A later sub-order does not belong to this line, unless an earlier request
      // made it.
      return sent.kind === 'failed' && sent.failure === 'permanent' && !request.isSentAgain ? undefined : link;
    }
    default:
      return request satisfies never;
  }
}

const failureOf = ({ reason, failure }: PushFailure): PushFailure => ({ reason, failure });
