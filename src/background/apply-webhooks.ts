import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../app/app.ts';
import { reviewDeps } from '../app/deps.ts';
import { refreshReview } from '../reviews/refresh/refresh-review.ts';
import { finishChangedReview, type TakenReview, takeChangedReview } from '../warehouse/changed-reviews.ts';

/** How often to look for changed reviews, whichever process stored them, in milliseconds. */
const lookEveryMs = 1000;
/** Reviews that a process reads at the same time, so that webhooks leave the client to the scheduled runs. */
const atATime = 2;
/** Requests a second at the most, and no more than a quarter of REVIEW_API_REQUESTS_PER_SECOND. */
const mostPerSecond = 20;
/** After this time `close` aborts everything that the App sends. */
const graceMs = 10_000;
/** Attempts before a review is left to the runs: 8.5 hours after the first, because each lease is twice as long as the last. */
const mostAttempts = 9;

/**
 * Reads the reviews that webhooks named by their ids, as long as the process lives: two loops, each of which takes a
 * review and reads it. Any number of processes may do so.
 *
 * @returns `close` finishes the reviews that are being read, for ten seconds; the others stay in `sync.changed_reviews`.
 */
export function startWebhookApplier(app: App, everyMs = lookEveryMs): { close(): Promise<void> } {
  const { warehouse, warehouseOutage, config } = app;
  const { requestsPerSecond = Number.POSITIVE_INFINITY } = config.api;
  const spacingMs = (atATime * 1000) / Math.min(mostPerSecond, requestsPerSecond / 4);
  const closing = new AbortController();
  const wait = (ms: number) => delay(ms, undefined, { signal: closing.signal }).catch(() => {});

  /** @returns false if no review is due. */
  const readNext = async (): Promise<boolean> => {
    const taken = await takeChangedReview(warehouse.db);
    if (taken) await readChanged(app, taken);
    return taken !== undefined;
  };
  const loop = async () => {
    while (!closing.signal.aborted) {
      // If it fails, the lease of a review that was taken runs out.
      const reading = readNext().then(
        (isTaken) => {
          warehouseOutage.worked();
          return isTaken;
        },
        (error: unknown) => {
          warehouseOutage.failed(error);
          return false;
        },
      );
      const nextAtMs = performance.now() + spacingMs;
      await wait((await reading) ? Math.max(0, nextAtMs - performance.now()) : everyMs);
    }
  };
  const loops = Array.from({ length: atATime }, loop);
  return {
    async close() {
      closing.abort();
      const timer = setTimeout(() => app.abort.abort(), graceMs);
      await Promise.all(loops);
      clearTimeout(timer);
    },
  };
}

/** Reads one review that a webhook named. If the service fails, the review is due again when its lease runs out. */
export async function readChanged(app: App, taken: TakenReview): Promise<void> {
  const { db } = app.warehouse;
  const { id, attempts } = taken;
  // Made for each call: a process lives for weeks, and the plausible dates end tomorrow.
  const outcome = await refreshReview(reviewDeps(app, app.abort.signal), id);
  if (outcome.kind !== 'failed') {
    await finishChangedReview(db, taken);
    app.log.info({ review: String(id), outcome: outcome.kind }, 'a changed review was read');
    return;
  }
  app.log.warn({ review: String(id), attempts, error: outcome.reason }, 'a changed review could not be read');
  // The review may be of another brand, and a webhook is a hint. A list shows it later, or, if it is hidden and the
  // warehouse has it, a reconcile asks for it.
  if (attempts >= mostAttempts) await finishChangedReview(db, taken);
}
