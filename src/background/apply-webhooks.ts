import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../app/app.ts';
import { reviewDeps } from '../app/deps.ts';
import { describeError } from '../base/errors.ts';
import { refreshReview } from '../reviews/refresh-review.ts';
import {
  finishChangedReview,
  postponeChangedReview,
  type TakenReview,
  takeChangedReview,
} from '../warehouse/changed-reviews.ts';
import { countOpenDeadLetters, putDeadLetters } from '../warehouse/dead-letters.ts';
import { mostDeadLetters } from '../webhooks/accept-webhook.ts';

/** How often to look for changed reviews, whichever process stored them, in milliseconds. */
const lookEveryMs = 1000;
/** Reviews that a process reads at the same time, so that webhooks leave the client to the scheduled runs. */
const atATime = 2;
/** Requests a second at the most, and no more than a quarter of REVIEW_API_REQUESTS_PER_SECOND. */
const mostPerSecond = 20;
/** Longer than the client tries one request. */
const leaseSeconds = 300;
/** Attempts before a review becomes a dead letter: within a day, because the distances grow from 4 s to 18 hours. */
const mostAttempts = 9;
/** After so many failures in a row the service counts as down, and nothing is read for a minute. */
const failuresInARow = 5;
const pauseMs = 60_000;

/**
 * Reads the reviews that webhooks named by their ids, as long as the process lives: two loops, each of which takes a
 * review and reads it. Any number of processes may do so.
 *
 * @returns `close` finishes the reviews that are being read.
 */
export function startWebhookApplier(app: App): { close(): Promise<void> } {
  const { warehouse, log, config } = app;
  const { requestsPerSecond = Number.POSITIVE_INFINITY } = config.api;
  const spacingMs = (atATime * 1000) / Math.min(mostPerSecond, requestsPerSecond / 4);
  const closing = new AbortController();
  const wait = (ms: number) => delay(ms, undefined, { signal: closing.signal }).catch(() => {});
  let failures = 0;
  let pausedUntilMs = 0;

  /** @returns false where no review is due. */
  const readNext = async (): Promise<boolean> => {
    const taken = await takeChangedReview(warehouse.db, leaseSeconds);
    if (!taken) return false;
    failures = (await readChanged(app, taken)) ? 0 : failures + 1;
    if (failures < failuresInARow) return true;
    failures = 0;
    pausedUntilMs = performance.now() + pauseMs;
    log.warn({ seconds: pauseMs / 1000 }, 'the service fails on the reviews that webhooks named; waiting');
    return true;
  };
  const loop = async () => {
    while (!closing.signal.aborted) {
      const reading = readNext().catch((error: unknown) => {
        // The lease of a review that was taken runs out.
        log.warn({ error: describeError(error) }, 'the reviews that webhooks named cannot be read; trying again');
        return false;
      });
      const nextAtMs = performance.now() + spacingMs;
      const waitMs = (await reading) ? nextAtMs - performance.now() : lookEveryMs;
      await wait(Math.max(waitMs, pausedUntilMs - performance.now()));
    }
  };
  const loops = Array.from({ length: atATime }, loop);
  return {
    async close() {
      closing.abort();
      await Promise.all(loops);
    },
  };
}

/** Reads one review that a webhook named. @returns false where the service failed. */
export async function readChanged(app: App, taken: TakenReview): Promise<boolean> {
  const { db } = app.warehouse;
  const { id, attempts } = taken;
  // Made for each call: a process lives for weeks, and the plausible dates end tomorrow.
  const outcome = await refreshReview(reviewDeps(app, app.abort.signal), id);
  if (outcome.kind !== 'failed') {
    await finishChangedReview(db, taken);
    app.log.info({ review: String(id), outcome: outcome.kind }, 'a changed review was read');
    return true;
  }
  if (attempts >= mostAttempts) {
    // Beyond these the scheduled runs alone find it.
    if ((await countOpenDeadLetters(db, ['review'])) < mostDeadLetters) {
      await putDeadLetters(db, [{ kind: 'review', key: String(id), reason: outcome.reason, payload: { id } }]);
    }
    await finishChangedReview(db, taken);
  } else await postponeChangedReview(db, taken, outcome.reason);
  app.log.warn({ review: String(id), attempts, error: outcome.reason }, 'a changed review could not be read');
  return false;
}
