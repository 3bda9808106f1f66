import { describeError } from '../errors.ts';
import type { Logger } from '../log.ts';

export type Watching = {
  /** Looks soon, as something has just happened. */
  wake(): void;
  close(): Promise<void>;
};

export type WatchOptions = {
  everyMs: number;
  log: Logger;
  /** Sends a message; rejects where it was not accepted. */
  post(text: string): Promise<void>;
};

/** Once may be a restart. */
const blindAfter = 2;

/**
 * Looks at once, then every `everyMs` and when it is woken; never twice at a time. Where nothing can be seen, warehouse or
 * queue being down, that is told too: once by each process, since what was told cannot be kept then.
 */
export function watchAlerts(look: () => Promise<void>, { everyMs, log, post }: WatchOptions): Watching {
  let looking = Promise.resolve();
  let isQueued = false;
  let failures = 0;
  let isTold = false;

  async function attempt(): Promise<void> {
    try {
      await look();
      failures = 0;
      if (isTold) await post('review-sync: recovered: how things stand can be read again');
      isTold = false;
    } catch (error) {
      failures += 1;
      const reason = describeError(error);
      log.warn({ error: reason }, 'cannot see whether all is well');
      if (failures < blindAfter || isTold) return;
      await post(
        `review-sync: how things stand cannot be read: ${reason}\n→ npx review-sync doctor tells what is broken`,
      );
      isTold = true;
    }
  }

  const wake = () => {
    if (isQueued) return;
    isQueued = true;
    looking = looking.then(async () => {
      isQueued = false;
      await attempt().catch((error) => log.warn({ error: describeError(error) }, 'an alert could not be sent'));
    });
  };
  const timer = setInterval(wake, everyMs);
  wake();
  return {
    wake,
    async close() {
      clearInterval(timer);
      await looking;
    },
  };
}
