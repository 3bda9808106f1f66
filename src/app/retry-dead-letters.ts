import { UsageError } from '../base/errors.ts';
import { contentKey, isRecord } from '../base/json-text.ts';
import { slicesOf } from '../orders/limits.ts';
import { pushOrders } from '../orders/push/push-orders.ts';
import { retryRefused } from '../reviews/refresh/refresh-review.ts';
import {
  type DeadLetter,
  deadLettersById,
  openDeadLetters,
  payloadOf,
  reopenDiscarded,
  resolveDeadLetters,
} from '../warehouse/dead-letters.ts';
import type { Db } from '../warehouse/index.ts';
import { makeDue } from '../warehouse/orders/order-links.ts';
import { readCursor } from '../warehouse/runs/cursors.ts';
import { storeEvents } from '../webhooks/accept-webhook.ts';
import { type EventFault, integer, readEvents } from '../webhooks/event.ts';
import type { App } from './app.ts';
import { orderDeps, reviewDeps } from './deps.ts';
import { requireSameService } from './require-same-service.ts';
import { requireSameShop } from './require-same-shop.ts';
import { ownPushRights } from './run-rights.ts';

/** @throws UsageError if one of the ids has no dead letter. */
export async function requireKnown(db: Db, ids: readonly number[]): Promise<DeadLetter[]> {
  const found = await deadLettersById(db, ids);
  const unknown = ids.find((id) => !found.some((one) => one.id === id));
  if (unknown === undefined) return found;
  throw new UsageError(`There is no dead letter ${unknown}`, { hint: 'See: review-sync dead-letters' });
}

/**
 * Retries the records of all open dead letters, or of the dead letters in `ids`. A discarded dead letter in `ids` opens
 * again.
 *
 * @returns how many records were `tried`, how many of them no longer have an open dead letter (`resolved`), and how
 *   many dead letters are `open`. `isFailing`: an open dead letter belongs to a tried record. `notRetried`: the
 *   discarded webhooks in `ids`.
 * @throws UsageError as `requireKnown`; ReviewSyncError if orders are among them and the shop is another one; the
 *   errors of service, shop and warehouse.
 */
export async function retryDeadLetters(
  app: App,
  ids: readonly number[],
  signal: AbortSignal,
  runCatalog: () => Promise<void>,
) {
  const { db } = app.warehouse;
  const named = await requireKnown(db, ids);
  await requireSameService(db, app.config.api);
  await reopenDiscarded(db, ids);
  // The record of a closed dead letter may be open under another id.
  const isNamed = ({ kind, key }: DeadLetter) =>
    ids.length === 0 || named.some((one) => one.kind === kind && one.key === key);
  const tried = (await openDeadLetters(db)).filter(isNamed);
  const codes = await retryRecords(app, tried, signal, runCatalog);
  const open = await openDeadLetters(db);
  // An order that can be read again may have a line that cannot.
  const isTried = (one: DeadLetter) => isNamed(one) || (one.orderCode !== null && codes.includes(one.orderCode));
  const isIn = (all: readonly DeadLetter[], { id }: DeadLetter) => all.some((one) => one.id === id);
  return {
    tried: tried.length,
    resolved: tried.filter((one) => !isIn(open, one)).length,
    open: open.length,
    isFailing: open.some(isTried),
    notRetried: named.filter((one) => one.isDiscarded && !isIn(tried, one)).map(({ id }) => id),
  };
}

/**
 * Reviews are read from the service at once. The events of a webhook are stored again, and serve or a worker reads
 * them. Then follows the catalog, and then these orders alone: a first `sync orders` would push the whole shop.
 *
 * @returns the codes of the orders that were pushed again.
 */
async function retryRecords(
  app: App,
  deadLetters: readonly DeadLetter[],
  signal: AbortSignal,
  runCatalog: () => Promise<void>,
): Promise<string[]> {
  const { db } = app.warehouse;
  const isOf = (...kinds: DeadLetter['kind'][]) => deadLetters.filter((deadLetter) => kinds.includes(deadLetter.kind));
  await retryRefused(reviewDeps(app, signal), isOf('review'));
  for (const deadLetter of isOf('webhook')) await retryWebhook(app, deadLetter);
  const codes = [...new Set(isOf('order', 'order_line').flatMap(({ orderCode }) => orderCode ?? []))];
  if (codes.length > 0) {
    await requireSameShop({ shop: app.shop, db });
    await makeDue(db, codes);
  }
  if (isOf('category', 'user_grade').length > 0) await runCatalog();
  const isBeforeFirst = (await readCursor(db, 'orders')) === undefined;
  const rights = ownPushRights(app.config, isBeforeFirst ? 'retry before the first sync' : 'retry');
  const ends = await Promise.allSettled(
    slicesOf(codes).map((slice) => app.sliceSlots(() => pushOrders(orderDeps(app, signal), slice, rights))),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return codes;
}

async function retryWebhook(app: App, deadLetter: DeadLetter): Promise<void> {
  const { db } = app.warehouse;
  const payload = await payloadOf(db, deadLetter.id);
  const body = Array.isArray(payload) ? payload : [payload];
  const brandIds: readonly number[] = app.config.webhookBrandIds;
  const idsOf = body.map((part) => (isRecord(part) ? integer(part.brand_id) : undefined));
  // If no brand has the brand_id, nothing of the webhook would be stored here, and the dead letter must not close.
  if (app.config.brand !== undefined && !brandIds.some((id) => idsOf.includes(id))) return;
  const stored = await storeEvents({ db, brandIds }, readEvents(body), deadLetter.firstFailedAt);
  // A fault in a part of the body is now a dead letter of its own.
  const isFaulty = ({ payload: part }: EventFault) => contentKey(part) === contentKey(body);
  if (stored.kind === 'stored' && !stored.faults.some(isFaulty))
    await resolveDeadLetters(db, 'webhook', [deadLetter.key]);
}
