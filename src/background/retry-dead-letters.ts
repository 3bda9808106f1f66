import type { App } from '../app/app.ts';
import { reviewDeps } from '../app/deps.ts';
import { retryRefusedReview } from '../reviews/refresh-review.ts';
import { type DeadLetter, payloadOf, resolveDeadLetters } from '../warehouse/dead-letters.ts';
import { makeDue } from '../warehouse/orders/order-links.ts';
import { storeEvents } from '../webhooks/accept-webhook.ts';

/**
 * Retries open dead letters. Orders and the catalog are read from the shop again by the given runs. Reviews
 * are read from the service at once. What a webhook names is stored again: serve or a worker reads it.
 */
export async function retryDeadLetters(
  app: App,
  deadLetters: readonly DeadLetter[],
  runs: { syncCatalog(): Promise<void>; syncOrders(): Promise<void> },
): Promise<void> {
  const { db } = app.warehouse;
  const isOf = (...kinds: DeadLetter['kind'][]) => deadLetters.filter((deadLetter) => kinds.includes(deadLetter.kind));
  if (isOf('category', 'user_grade').length > 0) await runs.syncCatalog();
  const orders = isOf('order', 'order_line');
  if (orders.length > 0) {
    await makeDue(
      db,
      orders.flatMap(({ orderCode }) => orderCode ?? []),
    );
    await runs.syncOrders();
  }
  for (const deadLetter of isOf('review')) await retryRefusedReview(reviewDeps(app, app.abort.signal), deadLetter);
  for (const deadLetter of isOf('webhook')) await retryWebhook(app, deadLetter);
}

async function retryWebhook(app: App, deadLetter: DeadLetter): Promise<void> {
  const { db } = app.warehouse;
  const payload = await payloadOf(db, deadLetter.id);
  const body = Array.isArray(payload) ? payload : [payload];
  const rules = { brandIds: app.config.webhooks.brandIds, receivedAt: deadLetter.firstFailedAt };
  const stored = await storeEvents(db, rules, body);
  if (stored.kind === 'stored' && stored.faults.length === 0) await resolveDeadLetters(db, 'webhook', [deadLetter.key]);
}
