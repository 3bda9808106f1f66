import { describeWithHint } from './errors.ts';
import { addresses } from './hints.ts';
import type { Logger } from './log.ts';

/** An outage of one system. Many loops of a process notice it at the same time. */
export type Outage = ReturnType<typeof openOutage>;

/** A continuing outage is logged again after this many milliseconds. */
const sayAgainMs = 60_000;

/** An outage ends if no work fails for this many milliseconds: on a read-only server, some loops still succeed. */
const quietMs = 10_000;

/** Logs an outage at its start, once a minute, and at its end. */
export function openOutage(log: Logger, system: keyof typeof addresses) {
  let sinceMs: number | undefined;
  let saidMs = 0;
  let failedMs = 0;
  const seconds = () => Math.round((performance.now() - (sinceMs ?? 0)) / 1000);
  return {
    /** Some work could not use the system. */
    failed(error: unknown): void {
      const nowMs = performance.now();
      const isNew = sinceMs === undefined;
      sinceMs ??= nowMs;
      failedMs = nowMs;
      if (!isNew && nowMs - saidMs < sayAgainMs) return;
      saidMs = nowMs;
      const facts = {
        system,
        error: describeWithHint(error, addresses[system]),
        ...(!isNew && { seconds: seconds() }),
      };
      log.warn(facts, `the ${system} cannot be used; trying again`);
    },
    /** Some work could use it. */
    worked(): void {
      if (sinceMs === undefined || performance.now() - failedMs < quietMs) return;
      log.info({ system, seconds: seconds() }, `the ${system} can be used again`);
      sinceMs = undefined;
    },
  };
}
