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
/** Requests a second at the most, so that webhooks cannot take the service from the scheduled runs. */
const mostPerSecond = 20;
/** Longer than the client tries one request. */
const leaseSeconds = 300;
/** Attempts before a review becomes a dead letter: within a day, because the distances grow from 4 s to 18 hours. */
const mostAttempts = 9;
/** After so many failures in a row the service counts as down, and nothing is read for a minute. */
const failuresInARow = 5;
const pauseMs = 60_000;

/**
 * The share of the client that webhooks may use, so that the scheduled runs keep the rest: a quarter of
 * REVIEW_API_CONCURRENCY, at least two requests at a time, and a quarter of REVIEW_API_REQUESTS_PER_SECOND.
 */
export function webhookShare({ concurrency, requestsPerSecond = Number.POSITIVE_INFINITY }: ApiLimits) {
  return {
    atATime: Math.max(2, Math.floor(concurrency / 4)),
    spacingMs: 1000 / Math.min(mostPerSecond, requestsPerSecond / 4),
  };
}

type ApiLimits = { concurrency: number; requestsPerSecond?: number | undefined };

/**
 * Reads the reviews that webhooks named by their ids, as long as the process lives. Any number of processes may do so.
 *
 * @returns `close` finishes the reviews that are being read.
 */
export function startWebhookApplier(app: App): { close(): Promise<void> } {
  const { warehouse, log, config } = app;
  const { atATime, spacingMs } = webhookShare(config.api);
  const running = new Set<Promise<void>>();
  const closing = new AbortController();
  const wait = (ms: number) => delay(ms, undefined, { signal: closing.signal }).catch(() => {});
  let failures = 0;

  const begin = (taken: TakenReview) => {
    const reading = readChanged(app, taken)
      .then((isRead) => {
        failures = isRead ? 0 : failures + 1;
      })
      .catch((error: unknown) => {
        // Its lease runs out.
        log.warn(
          { review: String(taken.id), error: describeError(error) },
          'a changed review could not be read; trying again',
        );
      })
      .finally(() => running.delete(reading));
    running.add(reading);
  };
  const loop = async () => {
    while (!closing.signal.aborted) {
      let waitMs = lookEveryMs;
      try {
        const taken = await takeChangedReview(warehouse.db, leaseSeconds);
        if (taken) {
          begin(taken);
          await Promise.all([delay(spacingMs), running.size >= atATime && Promise.race(running)]);
          waitMs = 0;
        }
      } catch (error) {
        log.warn({ error: describeError(error) }, 'the reviews that webhooks named cannot be read; trying again');
      }
      if (failures >= failuresInARow) {
        failures = 0;
        log.warn({ seconds: pauseMs / 1000 }, 'the service fails on the reviews that webhooks named; waiting');
        await wait(pauseMs);
      } else if (waitMs > 0) await wait(waitMs);
    }
    await Promise.all(running);
  };
  const ended = loop();
  return {
    async close() {
      closing.abort();
      await ended;
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
