import { pause } from './pause.ts';

/** Told once for each wait that stops requests: `untilMs` is milliseconds since 1970. */
export type Wait = { untilMs: number; reason: string };

export type Gate = {
  /** Lets no request start for so many milliseconds from now. Never shortens an earlier hold. */
  hold(holdMs: number, reason: string): void;
  isHeld(): boolean;
  /** Resolves when requests may start. */
  pass(signal: AbortSignal): Promise<void>;
};

/** One gate for all requests of a client: a limit met by one is obeyed by all. */
export function openGate(options: { now: () => number; onHold: (wait: Wait) => void }): Gate {
  // A monotonic clock: when the wall clock is set back, a gate must not stay shut for as long.
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
      while (openAt > clock()) await pause(Math.ceil(openAt - clock()), signal);
    },
  };
}
