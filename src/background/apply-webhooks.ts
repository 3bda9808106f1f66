import type { App } from '../app/app.ts';
import { reviewDeps } from '../app/deps.ts';
import { requireSameService } from '../app/require-same-service.ts';
import { describeWithHint } from '../base/errors.ts';
import { sleep } from '../base/timeout.ts';
import { refreshReview } from '../reviews/refresh/refresh-review.ts';
import { finishChangedReview, type TakenReview, takeChangedReview } from '../warehouse/changed-reviews.ts';

/** How often to look for changed reviews from any process, in milliseconds. */
const lookEveryMs = 1000;
/** Reviews that a process reads at the same time, so that webhooks leave the client to the scheduled runs. */
const atATime = 2;
/** Requests a second at the most, and no more than a quarter of REVIEW_API_REQUESTS_PER_SECOND. */
const mostPerSecond = 20;
/** After this time `close` aborts everything that the App sends. */
const graceMs = 10_000;
/** Attempts before a review is left to the runs: 8.5 hours, because each lease is twice as long as the last. */
const mostAttempts = 9;

/**
 * Reads, by id, the reviews that webhooks named, two at a time, as long as the process lives. Any number of processes
 * may do this.
 *
 * @returns `close` finishes the reviews that are being read, for ten seconds. Others stay in `sync.changed_reviews`.
 */
export function startWebhookApplier(app: App, everyMs = lookEveryMs): { close(): Promise<void> } {
  const { warehouse, warehouseOutage, config, log } = app;
  const { requestsPerSecond = Number.POSITIVE_INFINITY } = config.api;
  const spacingMs = (1000 * atATime) / Math.min(mostPerSecond, requestsPerSecond / 4);
  const closing = new AbortController();

  /** Reads one review after the other. */
  async function work(): Promise<void> {
    while (!closing.signal.aborted) {
      const nextAtMs = performance.now() + spacingMs;
      const taking = takeChangedReview(warehouse.db);
      taking.then(warehouseOutage.worked, warehouseOutage.failed);
      const taken = await taking.catch(() => undefined);
      if (taken)
        await readChanged(app, taken).catch((error: unknown) => {
          const facts = { review: String(taken.id), error: describeWithHint(error) };
          if (!app.abort.signal.aborted) log.warn(facts, 'a changed review could not be read and stored');
        });
      const waitMs = taken ? Math.max(0, nextAtMs - performance.now()) : everyMs * atATime;
      await sleep(waitMs, closing.signal).catch(() => {});
    }
  }
  const working = Promise.all(Array.from({ length: atATime }, work));
  return {
    async close() {
      closing.abort();
      const timer = setTimeout(() => app.abort.abort(), graceMs);
      await working;
      clearTimeout(timer);
    },
  };
}

/** Reads one review that a webhook named. If that fails, the review is due again when its lease runs out. */
export async function readChanged(app: App, taken: TakenReview): Promise<void> {
  const { db } = app.warehouse;
  const facts = { review: String(taken.id), attempts: taken.attempts };
  await requireSameService(db, app.config.api);
  // Make the dependencies for each call: a process lives for weeks, and the plausible dates end tomorrow.
  const outcome = await refreshReview(reviewDeps(app, app.abort.signal), taken.id);
  const isFailed = outcome.kind === 'failed';
  if (isFailed) app.log.warn({ ...facts, error: outcome.reason }, 'a changed review could not be read');
  else app.log.info({ ...facts, outcome: outcome.kind }, 'a changed review was read');
  // The review may belong to another brand, and a webhook is only a hint. A list shows the review later. If it is
  // hidden and the warehouse has it, a reconcile asks for it.
  if (!isFailed || taken.attempts >= mostAttempts) await finishChangedReview(db, taken);
}
