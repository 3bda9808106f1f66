import type { Logger } from '../base/log.ts';

/** Warns at most once a minute: neither guesses nor a sender that repeats itself may fill the log. */
export function onceAMinute(log: Logger, message: string): (fields: object) => void {
  let warnedMs = Number.NEGATIVE_INFINITY;
  return (fields) => {
    if (performance.now() - warnedMs < 60_000) return;
    warnedMs = performance.now();
    log.warn(fields, message);
  };
}

/** @param what the path, as an operator names it. */
export function wrongTokenWarning(log: Logger, what: string): () => void {
  const warn = onceAMinute(log, 'a request had a wrong token');
  return () => warn({ what });
}
