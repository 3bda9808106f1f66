import pLimit from 'p-limit';
import { explainError } from '../../base/hints.ts';
import { sleep } from '../../base/timeout.ts';
import { waitingFor } from '../../base/waits.ts';
import {
  AuthenticationError,
  LimitedError,
  MalformedResponseError,
  NotFoundError,
  RefusedError,
  type RequestContext,
  UnavailableError,
  UnknownOutcomeError,
} from '../review-api-errors.ts';
import type { Attempt, AttemptResult } from './attempt.ts';
import type { Call, HttpResponse, Send } from './call.ts';
import { classifyResponse, type Outcome } from './classify-response.ts';
import type { Gate, Wait } from './gate.ts';
import { type Failure, nextStep, type RetryLimits } from './retry-policy.ts';
import { openTokens, readToken, type Token, type Tokens, tokenCall } from './token.ts';

export type TransportOptions = {
  attempt: Attempt;
  gate: Gate;
  concurrency: number;
  clientId: string;
  clientSecret: string;
  limits: RetryLimits;
  now: () => number;
  stopped: AbortSignal;
  onRetry: (wait: Wait, delayMs: number) => void;
};

type SendOnce = (refused: Token | undefined) => Promise<{ token: Token | undefined; result: AttemptResult }>;

export type Transport = { send: Send; tokens: Tokens };

/**
 * Sends calls. Each call goes through these steps:
 *
 * 1. Wait for one of the slots (`concurrency`), take the token, send the request.
 * 2. Classify the response.
 * 3. Success: return its value. Token refused: renew the token and send again.
 * 4. Failure: wait and send again, or throw, as `nextStep` decides.
 */
export function openTransport(options: TransportOptions): Transport {
  const { attempt, now } = options;
  const limit = pLimit(options.concurrency);
  const authentication = tokenCall(options.clientId, options.clientSecret);
  // Outside of the limit: the caller holds a slot there and would wait for itself.
  const tokens = openTokens(
    () =>
      sendWithRetries(authentication, readToken, async () => ({
        token: undefined,
        result: await attempt(authentication, undefined),
      })),
    now,
  );

  const send: Send = (call, read) =>
    sendWithRetries(call, read, (refused) =>
      limit(async () => {
        options.stopped.throwIfAborted();
        const token = await tokens.take(refused);
        return { token, result: await attempt(call, token) };
      }),
    );

  return { send, tokens };

  async function sendWithRetries<T>(call: Call, read: (response: HttpResponse) => T, sendOnce: SendOnce): Promise<T> {
    const refused: Token[] = [];
    let [number, waitedMs, spentMs] = [1, 0, 0];
    for (;;) {
      const { token, result } = await sendOnce(refused.at(-1));
      const secrets = () => [token?.value, tokens.current(), options.clientSecret, ...privateParams(call)];
      const outcome = classifyResponse(result, { call, read, secrets, nowMs: now() });
      if (token && result.kind === 'response' && outcome.kind !== 'token-refused') token.accepted = true;

      if (outcome.kind === 'success') return outcome.value;
      if (outcome.kind === 'token-refused' && token) {
        refused.push(token);
        if (isEnough(refused)) throw new AuthenticationError(contextOf(call, outcome));
        continue;
      }
      if (outcome.kind !== 'failure') throw finalError(call, outcome);

      const countsAsSpent = outcome.failure.kind !== 'limited';
      if (countsAsSpent) spentMs += result.durationMs;
      const step = nextStep(
        outcome.failure,
        {
          number,
          waitedMs,
          spentMs,
          giveUpAfterMs: call.giveUpAfterMs,
          repeatable: call.repeatable ?? true,
          random: Math.random(),
        },
        options.limits,
      );
      if (step.pauseMs > 0) options.gate.pause(step.pauseMs, 'the review service asked for fewer requests');
      const context = { ...contextOf(call, outcome), attempts: number };
      if (step.action === 'unknown-outcome') throw new UnknownOutcomeError(context);
      options.stopped.throwIfAborted();
      if (step.action === 'give-up') throw failureError(outcome.failure, { ...context, hint: outcome.hint });
      const reason = `${call.method} ${call.path}: ${outcome.detail ?? outcome.failure.kind}`;
      options.onRetry({ untilMs: now() + step.delayMs, reason }, step.delayMs);
      const kind = step.pauseMs > 0 ? 'retry_after' : 'outage';
      await waitingFor(kind, () => sleep(step.delayMs, options.stopped));
      waitedMs += step.delayMs;
      if (countsAsSpent) spentMs += step.delayMs;
      number += 1;
    }
  }
}

/**
 * Whether to give up after these refused tokens: after two that no request succeeded with, or four in total. One path
 * may keep responding with 401 although the token works elsewhere.
 */
function isEnough(refused: readonly Token[]): boolean {
  return refused.length >= 4 || refused.filter((token) => !token.accepted).length >= 2;
}

function contextOf(call: Call, outcome: Outcome<unknown>): RequestContext {
  return { method: call.method, path: call.path, status: outcome.status, detail: outcome.detail };
}

function finalError(call: Call, outcome: Outcome<unknown>): Error {
  const context = contextOf(call, outcome);
  if (call.path === '/oauth/token') {
    // The response is not about the credentials: there is no such path, or it redirects.
    const isWrongAddress =
      context.status === 404 || context.status === 405 || (context.status !== undefined && context.status < 400);
    const hint = isWrongAddress
      ? 'check that /oauth/token and /v1 are paths below the base address'
      : explainError(new Error(context.detail))?.hint;
    return new AuthenticationError({ ...context, hint });
  }
  return outcome.kind === 'not-found' ? new NotFoundError(context) : new RefusedError(context);
}

function failureError(failure: Failure, context: RequestContext): Error {
  switch (failure.kind) {
    case 'limited':
      return new LimitedError(context);
    case 'malformed':
      return new MalformedResponseError(context, !failure.permanent);
    case 'not-confirmed':
      return new UnknownOutcomeError(context);
    case 'unsent':
      return new UnavailableError(context, !failure.permanent);
    case 'lost':
    case 'failed':
      return new UnavailableError(context);
    default:
      return failure satisfies never;
  }
}

/** Parameters that help to understand a refusal and say nothing about a customer. */
const publicParams =
  /^(?!user_code$)((\w+_)?codes?|(\w+_)?id|status|order_device|(total_)?price|score|page|limit|date_\w+|\w+_(at|date))$/;

/** Values about a customer that were sent: an error text that quotes them must not show them. */
function privateParams(call: Call): string[] {
  const texts = Object.entries(call.params ?? {}).flatMap(([field, value]) =>
    typeof value === 'string' && !publicParams.test(field) ? [value] : [],
  );
  return texts.flatMap((text) => [
    text,
    ...text.split(/[,\s]+/).filter((part) => part.length > 2 || !/^[\w.]*$/.test(part)),
  ]);
}
