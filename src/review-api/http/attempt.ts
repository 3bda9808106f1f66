import type { Call, HttpResponse } from './call.ts';
import type { ReviewApiOptions, ReviewApiStats } from './options.ts';
import { type Attempt, outcomeOf, tokenPath } from './outcome.ts';
import type { openSend } from './send.ts';
import type { OpenSession } from './session.ts';
import type { Token } from './tokens.ts';

/** @param free gives the slot to the next call: a success does so before it is parsed. */
export type SendAttempt = <T>(
  call: Call,
  read: (response: HttpResponse) => T,
  token?: Token,
  free?: () => void,
) => Promise<Attempt<T>>;

type AttemptDeps = Pick<ReviewApiOptions, 'clientSecret' | 'log' | 'onRequestEnd'> & {
  http: ReturnType<typeof openSend>;
  session: OpenSession;
  now: () => number;
  maxBodyBytes: number;
  stats: ReviewApiStats;
};

/** Sends a call once, sees what the response means, and reports the request. */
export function openAttempts({
  http,
  session,
  clientSecret,
  now,
  maxBodyBytes,
  log,
  onRequestEnd,
  stats,
}: AttemptDeps) {
  let lastTurn = Promise.resolve();
  let hasWarned = false;

  const attempt: SendAttempt = async (call, read, token, free) => {
    const { reply, sentMs, durationMs } = await http.send(call, token?.value);
    stats.requests += 1;
    const response = reply.kind === 'response' ? reply : undefined;
    if (free && response && response.status < 300 && !response.isStored) {
      free();
      await ownTurn();
    }
    const tokens = [token?.value, session.token()?.value, clientSecret];
    const outcome = outcomeOf(reply, call, read, { tokens, now, maxBodyBytes });
    const { method, path } = call;
    // Not for the token: it says nothing about records, and is obtained within `alone`, for which `succeeded` would wait.
    const isCarriedOut = outcome.kind === 'success' || outcome.kind === 'refused';
    if (isCarriedOut && path !== tokenPath) await session.succeeded(sentMs);
    stats.oldestMs = Math.max(stats.oldestMs, response?.ageMs ?? 0);
    if (outcome.kind === 'success' && outcome.detail !== undefined && !hasWarned) {
      hasWarned = true;
      log?.warn({ method, path, text: outcome.detail }, 'the review service writes text beside its JSON');
    }
    const facts = { method, path, status: response?.status, durationMs };
    log?.debug(facts, 'request to the review service');
    onRequestEnd?.(facts);
    return { outcome, isStored: method === 'GET' && response?.isStored === true, sentMs, durationMs };
  };
  return attempt;

  /**
   * One response at a time is parsed in a turn of the event loop. A page of reviews takes some milliseconds, and between
   * two of them responses come in and the next requests go out: 800 pages in 6.4 to 6.7 s instead of 7.6 to 8.1 s.
   */
  function ownTurn(): Promise<void> {
    lastTurn = lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
    return lastTurn;
  }
}
