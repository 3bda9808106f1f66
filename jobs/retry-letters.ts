import type { App } from '../src/app.ts';
import type { AnyRunJob } from '../src/queue/job.ts';
import { NotFoundError } from '../src/review-api/index.ts';
import {
  type DeadLetter,
  forgetFingerprints,
  orderCodesOf,
  putDeadLetter,
  resolveDeadLetters,
} from '../src/warehouse/dead-letters.ts';
import { landOne } from '../src/warehouse/reviews.ts';
import { applyBodies } from '../src/webhooks/apply-inbox.ts';
import { webhookDeps } from './apply-webhooks.ts';
import { syncCatalog } from './sync-catalog.ts';
import { syncOrders } from './sync-orders.ts';

/**
 * Tries open letters again. Orders and the catalog are read from the shop again, by a run that `run` starts; reviews and
 * what webhooks told are read from the service at once.
 */
export async function retryLetters(
  app: App,
  letters: readonly DeadLetter[],
  run: (job: AnyRunJob<App>) => Promise<void>,
): Promise<void> {
  const { db } = app.warehouse;
  const isOf = (...kinds: DeadLetter['kind'][]) => letters.filter((letter) => kinds.includes(letter.kind));
  if (isOf('category', 'user_grade').length > 0) await run(syncCatalog);
  const orders = isOf('order', 'order_line').map((letter) => letter.id);
  if (orders.length > 0) {
    await forgetFingerprints(db, await orderCodesOf(db, orders));
    await run(syncOrders);
  }
  for (const letter of isOf('review')) await retryReview(app, letter);
  for (const letter of isOf('webhook')) await retryWebhook(app, letter);
}

async function retryReview(app: App, letter: DeadLetter): Promise<void> {
  const { db } = app.warehouse;
  if (!/^\d+$/.test(letter.key)) return;
  try {
    const { rawBody } = await app.api.reviews.getRaw(Number(letter.key));
    const landed = await landOne(app.warehouse, rawBody);
    if (landed.refused === 0) await resolveDeadLetters(db, 'review', [letter.key]);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    await putDeadLetter(db, { ...letter, reason: 'the review is no longer at the service' });
  }
}

async function retryWebhook(app: App, letter: DeadLetter): Promise<void> {
  const body = Array.isArray(letter.payload) ? letter.payload : [letter.payload];
  const { faults } = await applyBodies(webhookDeps(app), [{ receivedAt: letter.firstFailedAt, body }]);
  const [fault] = faults;
  if (fault) await putDeadLetter(app.warehouse.db, { ...letter, reason: fault.reason });
  else await resolveDeadLetters(app.warehouse.db, 'webhook', [letter.key]);
}
