import type { App } from '../app/app.ts';
import { orderDeps, reviewDeps } from '../app/deps.ts';
import { requireSameShop } from '../app/require-same-shop.ts';
import { ownPushRights } from '../app/run-rights.ts';
import { contentKey, isRecord } from '../base/json-text.ts';
import { slicesOf } from '../orders/limits.ts';
import { pushOrders } from '../orders/push/push-slice.ts';
import { retryRefused } from '../reviews/refresh/retry-refused.ts';
import { type DeadLetter, payloadOf, resolveDeadLetters } from '../warehouse/dead-letters.ts';
import { makeDue } from '../warehouse/orders/order-links.ts';
import { readCursor } from '../warehouse/runs/cursors.ts';
import { storeEvents } from '../webhooks/accept-webhook.ts';
import { type EventFault, integer, readEvents } from '../webhooks/event.ts';

/**
 * Retries open dead letters, one kind after the other: reviews are read from the service at once; what a webhook names is
 * stored again, and serve or a worker reads it; the catalog; and these orders alone, for a first `sync orders` would push
 * the whole shop.
 *
 * @param retryCatalog carries out a run of the catalog. Called if a category or a member grade is among them, before the orders.
 * @returns the codes of the orders that were pushed again.
 * @throws when the service, the shop or the warehouse fails; ReviewSyncError if orders are among them and the shop is another one.
 */
export async function retryDeadLetters(
  app: App,
  deadLetters: readonly DeadLetter[],
  signal: AbortSignal,
  retryCatalog: () => Promise<void>,
): Promise<string[]> {
  const isOf = (...kinds: DeadLetter['kind'][]) => deadLetters.filter((deadLetter) => kinds.includes(deadLetter.kind));
  await retryRefused(reviewDeps(app, app.abort.signal), isOf('review'));
  for (const deadLetter of isOf('webhook')) await retryWebhook(app, deadLetter);
  const codes = [...new Set(isOf('order', 'order_line').flatMap(({ orderCode }) => orderCode ?? []))];
  if (codes.length > 0) {
    await requireSameShop({ shop: app.shop, db: app.warehouse.db });
    await makeDue(app.warehouse.db, codes);
  }
  if (isOf('category', 'user_grade').length > 0) await retryCatalog();
  await retryOrders(app, codes, signal);
  return codes;
}

async function retryOrders(app: App, codes: readonly string[], signal: AbortSignal): Promise<void> {
  const isBeforeFirst = (await readCursor(app.warehouse.db, 'orders')) === undefined;
  const rights = ownPushRights(app.config, isBeforeFirst ? 'retry before the first sync' : 'retry');
  const ends = await Promise.allSettled(
    slicesOf(codes).map((slice) => app.sliceSlots(() => pushOrders(orderDeps(app, signal), slice, rights))),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
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
  // A fault of a part of it is a dead letter of its own now.
  const isFaulty = ({ payload: part }: EventFault) => contentKey(part) === contentKey(body);
  if (stored.kind === 'stored' && !stored.faults.some(isFaulty))
    await resolveDeadLetters(db, 'webhook', [deadLetter.key]);
}
