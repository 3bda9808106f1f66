import { setTimeout as delay } from 'node:timers/promises';

/** Ends a wait early. */
export type Alarm = {
  /** Ends the wait that is under way, or the next one if nothing waits. */
  ring(): void;
  /** Waits until it rings, at most this long. */
  wait(ms: number): Promise<void>;
};

export function openAlarm(): Alarm {
  let rung = new AbortController();
  return {
    ring: () => rung.abort(),
    async wait(ms) {
      await delay(ms, undefined, { signal: rung.signal }).catch(() => {});
      if (rung.signal.aborted) rung = new AbortController();
    },
  };
}
