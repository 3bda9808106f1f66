import { sleep } from '../../base/timeout.ts';
import { waitingFor } from '../../base/waits.ts';

/** A wait that stops requests. `untilMs` is milliseconds since 1970. */
export type Wait = { untilMs: number; reason: string };

export type Gate = {
  /** Lets no request start for this many milliseconds from now. Never shortens an earlier hold. */
  hold(holdMs: number, reason: string): void;
  isHeld(): boolean;
  /** Resolves when requests may start. */
  pass(signal: AbortSignal): Promise<void>;
};

/** One gate for all requests of a client: a `Retry-After` of one response holds all requests. `onHold` is called once per hold. */
export function openGate(options: { now: () => number; onHold: (wait: Wait) => void }): Gate {
  // A monotonic clock: a wall clock that is set back must not keep the gate closed.
  const clock = () => performance.now();
  let openAt = 0;
  return {
    hold(holdMs, reason) {
      if (clock() + holdMs <= openAt) return;
      openAt = clock() + holdMs;
      options.onHold({ untilMs: options.now() + holdMs, reason });
    },
    isHeld: () => openAt > clock(),
    async pass(signal) {
      signal.throwIfAborted();
      while (openAt > clock()) await waitingFor('retry_after', () => sleep(Math.ceil(openAt - clock()), signal));
    },
  };
}
