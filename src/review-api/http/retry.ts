import { sleep } from '../../base/timeout.ts';
import type { Call } from './call.ts';
import type { ReviewApiOptions, ReviewApiStats } from './options.ts';
import { type Attempt, errorOf, type Outcome, tokenPath } from './outcome.ts';
import { nextStep, type RetryLimits, type Spent } from './retry-policy.ts';
import type { OpenSession } from './session.ts';

/** A request that is sent again more often than this is worth a warning. */
const retriesOfNote = 2;

/** `askedAtMs`: when the service last asked the call to wait. */
type CallState = Spent & { askedAtMs: number | undefined };

/** A call ended, or waits by itself, without its slot. */
type Ended<T> = { value: T } | { delayMs: number };

type RetryDeps = {
  session: OpenSession;
  limits: RetryLimits;
  stopped: AbortSignal;
  acquire: ReviewApiOptions['acquire'];
  stats: ReviewApiStats;
  reportWait: (level: 'info' | 'warn', forMs: number, reason: string) => void;
};

export type Retries = ReturnType<typeof openRetries>;

/** Sends calls again, as `nextStep` in retry-policy.ts decides, and lets them wait. */
export function openRetries({ session, limits, stopped, acquire, stats, reportWait }: RetryDeps) {
  let warnedMs = Number.NEGATIVE_INFINITY;
  /** Calls that failed with a request to wait: another one shows whether the service is up. */
  const failed = new WeakSet<Call>();

  return { repeat, untilWait, inTurn };

  /** Works until the call ends, with the waits that it has by itself. */
  async function repeat<T>(work: (spent: CallState) => Promise<Ended<T>>): Promise<T> {
    const spent: CallState = { number: 1, waitedMs: 0, spentMs: 0, askedAtMs: undefined };
    for (;;) {
      const end = await work(spent);
      if ('value' in end) return end.value;
      await sleep(end.delayMs, stopped);
    }
  }

  /** Sends attempts until the call ends or must wait by itself. */
  async function untilWait<T>(call: Call, send: () => Promise<Attempt<T>>, spent: CallState): Promise<Ended<T>> {
    for (;;) {
      const { outcome, sentMs, durationMs } = await send();
      if (outcome.kind === 'success') return { value: outcome.value };
      if (outcome.kind !== 'failure') throw errorOf(call, outcome, spent.number);
      const { failure, detail } = outcome;
      const isLimited = failure.kind === 'limited';
      if (!isLimited) spent.spentMs += durationMs;
      const { giveUpAfterMs, countsHolds, repeatable = true } = call;
      // Whether only this request is refused. After a 429: another one, sent after this call was first asked to wait, was
      // carried out. After another failure: this call was asked to wait before, or a later request was carried out.
      const { askedAtMs } = spent;
      const isAlone = isLimited
        ? askedAtMs !== undefined && session.hasSucceededSince(askedAtMs)
        : askedAtMs !== undefined || session.hasSucceededSince(sentMs);
      const state = { ...spent, giveUpAfterMs, countsHolds, repeatable, random: Math.random(), isAlone };
      const step = nextStep(failure, state, limits);
      if (step.action !== 'unknown-outcome') stopped.throwIfAborted();
      if (step.action !== 'repeat') throw errorOf(call, outcome, spent.number, step.action === 'unknown-outcome');
      const { pauseMs, delayMs } = step;
      if (pauseMs > 0) await session.hold(pauseMs, isLimited ? 'limited' : 'failed', sentMs);
      const why = [outcome.status, detail ?? failure.kind].filter((one) => one !== undefined).join(' ');
      const level = spent.number > retriesOfNote ? levelOnceAMinute() : 'info';
      reportWait(level, pauseMs + delayMs, `waiting to retry ${call.method} ${call.path}: ${why}`);
      stats.retries += 1;
      spent.number += 1;
      spent.waitedMs += delayMs + (isLimited ? 0 : pauseMs);
      if (pauseMs === 0 || countsHolds) spent.spentMs += pauseMs + delayMs;
      if (pauseMs === 0) return { delayMs };
      spent.askedAtMs = performance.now();
      if (!isLimited) {
        // It waits without its slot. Else as many records as there are slots would leave no request to see.
        failed.add(call);
        return { delayMs };
      }
      await session.untilFree(call, limits.maxRetryAfterMs, false);
      await sleep(delayMs, stopped);
    }
  }

  /** Sends an attempt as soon as it may be sent. `send` returns undefined if there was nothing to send. */
  async function inTurn<T>(call: Call, send: () => Promise<Attempt<T> | undefined>): Promise<Attempt<T> | undefined> {
    let isProbe = false;
    do {
      isProbe = await session.untilFree(call, limits.maxRetryAfterMs, !failed.has(call) && (call.repeatable ?? true));
      await acquire?.(stopped);
    } while (!isProbe && session.isHeld());
    let outcome: Outcome<T> | undefined;
    try {
      stopped.throwIfAborted();
      const sent = await send();
      outcome = sent?.outcome;
      return sent;
    } finally {
      if (isProbe && !showsService(call, outcome)) await session.giveProbeBack();
    }
  }

  /** During an outage many requests are sent again and again: one line a minute is a warning. */
  function levelOnceAMinute(): 'info' | 'warn' {
    if (performance.now() - warnedMs < 60_000) return 'info';
    warnedMs = performance.now();
    return 'warn';
  }
}

/** Whether the outcome of a request shows how the service is. A token does not. */
function showsService({ path }: Call, outcome: Outcome<unknown> | undefined): boolean {
  if (outcome?.kind === 'failure') return outcome.failure.kind !== 'lost' && outcome.failure.kind !== 'unsent';
  return outcome !== undefined && outcome.kind !== 'token-refused' && path !== tokenPath;
}
