import { setTimeout as delay } from 'node:timers/promises';
import { describeError } from '../errors.ts';
import { type ApplyDeps, applyInbox } from './apply-inbox.ts';

export type Applying = {
  /** Something came: do not wait for the next look. */
  wake(): void;
  /** Lets what is in hand end. */
  close(): Promise<void>;
};

/** How often to look for what another process accepted, or left behind, in milliseconds. */
const lookEveryMs = 5000;

/** Applies the inbox as long as the process lives. Any number of processes may. */
export function keepApplying(deps: ApplyDeps): Applying {
  const stop = new AbortController();
  let woken = new AbortController();
  const wake = () => woken.abort();

  const loop = async () => {
    while (!stop.signal.aborted) {
      woken = new AbortController();
      try {
        const counts = await applyInbox(deps);
        if (counts !== undefined) {
          deps.log.info(counts, 'webhooks applied');
          continue;
        }
      } catch (error) {
        deps.log.warn({ error: describeError(error) }, 'the webhook inbox cannot be read; trying again');
      }
      await delay(lookEveryMs, undefined, { signal: AbortSignal.any([woken.signal, stop.signal]) }).catch(() => {});
    }
  };
  const ended = loop();
  return {
    wake,
    async close() {
      stop.abort();
      await ended;
    },
  };
}
