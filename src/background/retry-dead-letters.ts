import type { App } from '../app/app.ts';
import { reviewDeps } from '../app/deps.ts';
import { describeError } from '../base/errors.ts';
import { NotFoundError, ReviewApiError } from '../review-api/index.ts';
import { oneReviewMs } from '../reviews/refresh-reviews.ts';
import { type DeadLetter, orderCodesOf, putDeadLetter, resolveDeadLetters } from '../warehouse/dead-letters.ts';
import { makeDue } from '../warehouse/orders/order-links.ts';
import { usableId } from '../warehouse/reviews/check-page.ts';
import { landOne } from '../warehouse/reviews/land-reviews.ts';
import { applyBodies } from '../webhooks/apply-inbox.ts';
import { webhookDeps } from './apply-webhooks.ts';

/**
 * Retries open dead letters. Orders and the catalog are read from the shop again by the given runs. Reviews, and the
 * records that webhooks name, are read from the service at once.
 */
export async function retryDeadLetters(
  app: App,
  deadLetters: readonly DeadLetter[],
  runs: { syncCatalog(): Promise<void>; syncOrders(): Promise<void> },
): Promise<void> {
  const { db } = app.warehouse;
  const isOf = (...kinds: DeadLetter['kind'][]) => deadLetters.filter((deadLetter) => kinds.includes(deadLetter.kind));
  if (isOf('category', 'user_grade').length > 0) await runs.syncCatalog();
  const orders = isOf('order', 'order_line').map((deadLetter) => deadLetter.id);
  if (orders.length > 0) {
    await makeDue(db, await orderCodesOf(db, orders));
    await runs.syncOrders();
  }
  for (const deadLetter of isOf('review')) await retryReview(app, deadLetter);
  for (const deadLetter of isOf('webhook')) await retryWebhook(app, deadLetter);
}

async function retryReview(app: App, deadLetter: DeadLetter): Promise<void> {
  const { db } = app.warehouse;
  // A review without a valid id cannot be requested. It lands when a list contains it corrected.
  const id = usableId({ id: deadLetter.key });
  if (id === undefined) return;
  try {
    const { rawBody } = await app.api.reviews.getRaw(id, { giveUpAfterMs: oneReviewMs });
    const landed = await landOne(app.warehouse, rawBody, reviewDeps(app, app.abort.signal).plausible);
    if (landed.refused === 0) await resolveDeadLetters(db, 'review', [deadLetter.key]);
  } catch (error) {
    if (!(error instanceof ReviewApiError)) throw error;
    const isGone = error instanceof NotFoundError;
    const reason = isGone ? 'the review is no longer at the service' : describeError(error);
    await putDeadLetter(db, { ...deadLetter, reason });
  }
}

async function retryWebhook(app: App, deadLetter: DeadLetter): Promise<void> {
  const body = Array.isArray(deadLetter.payload) ? deadLetter.payload : [deadLetter.payload];
  const { faults, postponed } = await applyBodies(webhookDeps(app), [{ receivedAt: deadLetter.firstFailedAt, body }]);
  const [fault] = faults;
  const [failed] = postponed;
  const reason = fault?.reason ?? (failed && describeError(failed.error));
  if (reason !== undefined) await putDeadLetter(app.warehouse.db, { ...deadLetter, reason });
  else await resolveDeadLetters(app.warehouse.db, 'webhook', [deadLetter.key]);
}
