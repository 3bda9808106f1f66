import type { App } from '../app/app.ts';
import { reviewDeps } from '../app/deps.ts';
import { openAlarm } from '../base/alarm.ts';
import { describeError } from '../base/errors.ts';
import { refreshProducts, refreshReviews } from '../reviews/refresh-reviews.ts';
import { type ApplyDeps, type Batch, takeInbox } from '../webhooks/apply-inbox.ts';

export type WebhookApplier = {
  /** Looks at the inbox now, because a webhook was stored. */
  wake(): void;
  /** Finishes the current webhooks. */
  close(): Promise<void>;
};

/** How often to look for webhooks that another process stored or left, in milliseconds. */
const lookEveryMs = 5000;
/**
 * Webhooks that take longer than this to apply do not delay the next ones, in milliseconds: a request may wait a minute
 * for its response.
 */
const besideMs = 3000;
/** How often webhooks are taken while earlier ones are still being applied. */
const batchesAtATime = 8;

/**
 * Applies webhooks as long as the process lives. Any number of processes may do so. It uses no queue, because the inbox
 * is one: a webhook is stored there before the response, and a second copy elsewhere could be lost.
 */
export function startWebhookApplier(app: App): WebhookApplier {
  const deps = webhookDeps(app);
  const alarm = openAlarm();
  const batchEnd = openAlarm();
  const running = new Set<Promise<void>>();
  let isClosing = false;

  /** Applies a batch, whose webhooks are taken again after their lease if that fails. */
  const apply = async (batch: Batch) => {
    try {
      deps.log.info(await batch.apply(), 'webhooks applied');
    } catch (error) {
      deps.log.warn({ error: describeError(error) }, 'webhooks could not be applied; trying again');
    }
  };
  const begin = (batch: Batch) => {
    const applying = apply(batch).finally(() => {
      running.delete(applying);
      batchEnd.ring();
    });
    running.add(applying);
  };
  const loop = async () => {
    while (!isClosing) {
      try {
        const batch = await takeInbox(deps);
        if (batch) {
          begin(batch);
          await batchEnd.wait(besideMs);
          if (running.size >= batchesAtATime) await Promise.race(running);
          continue;
        }
      } catch (error) {
        deps.log.warn({ error: describeError(error) }, 'the webhook inbox cannot be read; trying again');
      }
      await alarm.wait(lookEveryMs);
    }
    await Promise.all(running);
  };
  const ended = loop();
  return {
    wake: alarm.ring,
    async close() {
      isClosing = true;
      alarm.ring();
      await ended;
    },
  };
}

/** Dependencies for applying webhooks. */
export function webhookDeps(app: App): ApplyDeps {
  const { warehouse, log } = app;
  // Made for each call: a process lives for weeks, and the plausible dates end tomorrow.
  const deps = () => reviewDeps(app, app.abort.signal);
  return {
    warehouse,
    log,
    brandIds: app.config.webhooks.brandIds,
    refreshReviews: (events) => refreshReviews(deps(), events),
    refreshProducts: (ids) => refreshProducts(deps(), ids),
  };
}
