import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * What work waits for.
 *
 * - `ceiling`: REVIEW_API_REQUESTS_PER_SECOND.
 * - `retry_after`: the service asked for fewer requests, by a 429 or a `Retry-After`.
 * - `outage`: the service failed or could not be reached, before the next attempt.
 * - `lease`: another process has the lease of a record.
 */
export type WaitKind = 'ceiling' | 'retry_after' | 'outage' | 'lease';

/** Seconds by kind. A time in which several requests waited for the same counts once. */
export type WaitSeconds = Partial<Record<WaitKind, number>>;

type Meter = {
  users: number;
  /** How many wait for each kind at the moment, and since when some do, by `performance.now()`. */
  active: Map<WaitKind, { count: number; sinceMs: number }>;
  /** Milliseconds that have passed and are not saved yet. */
  passed: Map<WaitKind, number>;
};

const current = new AsyncLocalStorage<Meter>();

/** Waits, and counts the time for the run that this is part of, see openWaitMeters. */
export async function waitingFor<T>(kind: WaitKind, wait: () => Promise<T>): Promise<T> {
  const meter = current.getStore();
  if (!meter) return wait();
  const state = meter.active.get(kind) ?? { count: 0, sinceMs: 0 };
  meter.active.set(kind, state);
  if (state.count === 0) state.sinceMs = performance.now();
  state.count += 1;
  try {
    return await wait();
  } finally {
    state.count -= 1;
    if (state.count === 0) settle(meter, kind, state.sinceMs);
  }
}

function settle({ passed }: Meter, kind: WaitKind, sinceMs: number): void {
  passed.set(kind, (passed.get(kind) ?? 0) + performance.now() - sinceMs);
}

/** Measures how long the runs of one process wait. */
export type WaitMeters = {
  /**
   * Does a part of a run, and hands what the run's parts in this process have waited since the last time to `save`. A
   * failure of `save` is ignored: it must not fail the work.
   */
  measure<T>(run: string, work: () => Promise<T>, save: (waits: WaitSeconds) => Promise<void>): Promise<T>;
};

export function openWaitMeters(): WaitMeters {
  const meters = new Map<string, Meter>();
  return {
    async measure(run, work, save) {
      const meter = meters.get(run) ?? { users: 0, active: new Map(), passed: new Map() };
      meters.set(run, meter);
      meter.users += 1;
      try {
        return await current.run(meter, work);
      } finally {
        meter.users -= 1;
        if (meter.users === 0) meters.delete(run);
        const waits = takeWaits(meter);
        if (Object.keys(waits).length > 0) await save(waits).catch(() => {});
      }
    },
  };
}

/** What has passed since the last time; what still goes on counts from now on. */
function takeWaits(meter: Meter): WaitSeconds {
  for (const [kind, state] of meter.active) {
    if (state.count === 0) continue;
    settle(meter, kind, state.sinceMs);
    state.sinceMs = performance.now();
  }
  const waits = [...meter.passed].map(([kind, ms]) => [kind, Math.round(ms) / 1000] as const);
  meter.passed.clear();
  return Object.fromEntries(waits.filter(([, seconds]) => seconds > 0));
}
