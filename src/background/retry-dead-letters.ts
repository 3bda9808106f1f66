import type { App } from '../app/app.ts';
import { reviewDeps } from '../app/deps.ts';
import { retryRefusedReview } from '../reviews/refresh-review.ts';
import { type DeadLetter, payloadOf, resolveDeadLetters } from '../warehouse/dead-letters.ts';
import { makeDue } from '../warehouse/orders/order-links.ts';
import { storeEvents } from '../webhooks/accept-webhook.ts';
import { readEvents } from '../webhooks/event.ts';

/**
 * Retries open dead letters. Reviews are read from the service at once. What a webhook names is stored again: serve or a
 * worker reads it.
 *
 * @returns what is to be read from the shop again, for the caller to do in this order: the catalog, and these orders,
 *   which are due.
 */
export async function retryDeadLetters(
  app: App,
  deadLetters: readonly DeadLetter[],
): Promise<{ isCatalog: boolean; codes: string[] }> {
  const { db } = app.warehouse;
  const isOf = (...kinds: DeadLetter['kind'][]) => deadLetters.filter((deadLetter) => kinds.includes(deadLetter.kind));
  for (const deadLetter of isOf('review')) await retryRefusedReview(reviewDeps(app, app.abort.signal), deadLetter);
  for (const deadLetter of isOf('webhook')) await retryWebhook(app, deadLetter);
  const codes = [...new Set(isOf('order', 'order_line').flatMap(({ orderCode }) => orderCode ?? []))];
  if (codes.length > 0) await makeDue(db, codes);
  return { isCatalog: isOf('category', 'user_grade').length > 0, codes };
}

async function retryWebhook(app: App, deadLetter: DeadLetter): Promise<void> {
  const { db } = app.warehouse;
  const payload = await payloadOf(db, deadLetter.id);
  const body = Array.isArray(payload) ? payload : [payload];
  const rules = { brandIds: app.config.webhooks.brandIds, receivedAt: deadLetter.firstFailedAt };
  const stored = await storeEvents(db, rules, readEvents(body));
  if (stored.kind === 'stored' && stored.faults.length === 0) await resolveDeadLetters(db, 'webhook', [deadLetter.key]);
}
