import { sleep } from '../../base/timeout.ts';
import { waitingFor } from '../../base/waits.ts';

/** A wait that stops requests. `untilMs` is milliseconds since 1970. */
export type Wait = { untilMs: number; reason: string };

export type Gate = {
  /** Lets no request start for this many milliseconds from now. Never shortens an earlier pause. */
  pause(pauseMs: number, reason: string): void;
  isPaused(): boolean;
  /** Resolves when requests may start. */
  pass(signal: AbortSignal): Promise<void>;
};

/**
 * One gate for all requests of a client: a `Retry-After` of one response pauses all requests. `onPause` is called once
 * per pause.
 */
export function openGate(options: { now: () => number; onPause: (wait: Wait) => void }): Gate {
  // A monotonic clock: a wall clock that is set back must not keep the gate closed.
  const clock = () => performance.now();
  let openAt = 0;
  return {
    pause(pauseMs, reason) {
      if (clock() + pauseMs <= openAt) return;
      openAt = clock() + pauseMs;
      options.onPause({ untilMs: options.now() + pauseMs, reason });
    },
    isPaused: () => openAt > clock(),
    async pass(signal) {
      signal.throwIfAborted();
      while (openAt > clock()) await waitingFor('retry_after', () => sleep(Math.ceil(openAt - clock()), signal));
    },
  };
}
