import pLimit from 'p-limit';
import { plainWordsOf } from '../plain-words.ts';
import type { Answer, Call, Send } from './call.ts';
import {
  AuthenticationError,
  type Circumstances,
  LimitedError,
  MalformedAnswerError,
  NotFoundError,
  RefusedError,
  UnavailableError,
  UnknownOutcomeError,
} from './errors.ts';
import type { Gate, Wait } from './gate.ts';
import { judge, type Verdict } from './judge.ts';
import { pause } from './pause.ts';
import { type Failure, nextStep, type RetryLimits } from './retry-policy.ts';
import { openTokens, readToken, type Token, type Tokens, tokenCall } from './token.ts';
import type { Sent, Wire } from './wire.ts';

export type TransportParts = {
  wire: Wire;
  gate: Gate;
  concurrency: number;
  clientId: string;
  clientSecret: string;
  limits: RetryLimits;
  now: () => number;
  stopped: AbortSignal;
  onRetry: (wait: Wait, delayMs: number) => void;
};

type TryOnce = (refused: Token | undefined) => Promise<{ token: Token | undefined; sent: Sent }>;

export type Transport = { send: Send; tokens: Tokens };

/** One request from start to answer: token, requests in flight, repeats. */
export function openTransport(parts: TransportParts): Transport {
  const { wire, now } = parts;
  const limit = pLimit(parts.concurrency);
  const authentication = tokenCall(parts.clientId, parts.clientSecret);
  // Not under the limit: its caller holds a place there and would wait for itself.
  const tokens = openTokens(
    () =>
      untilAnswered(authentication, readToken, async () => ({
        token: undefined,
        sent: await wire(authentication, undefined),
      })),
    now,
  );

  const send: Send = (call, read) =>
    untilAnswered(call, read, (refused) =>
      limit(async () => {
        parts.stopped.throwIfAborted();
        const token = await tokens.take(refused);
        return { token, sent: await wire(call, token) };
      }),
    );

  return { send, tokens };

  async function untilAnswered<T>(call: Call, read: (answer: Answer) => T, tryOnce: TryOnce): Promise<T> {
    const refused: Token[] = [];
    let [number, waitedMs] = [1, 0];
    for (;;) {
      const { token, sent } = await tryOnce(refused.at(-1));
      const secrets = [token?.value, tokens.current(), parts.clientSecret, ...privateParams(call)];
      const verdict = judge(sent, { call, read, secrets, nowMs: now() });
      if (token && sent.kind === 'answer' && verdict.kind !== 'token-refused') token.accepted = true;

      if (verdict.kind === 'fine') return verdict.value;
      if (verdict.kind === 'token-refused' && token) {
        refused.push(token);
        if (isEnough(refused)) throw new AuthenticationError(circumstances(call, verdict));
        continue;
      }
      if (verdict.kind !== 'failure') throw finalError(call, verdict);

      const step = nextStep(
        verdict.failure,
        { number, waitedMs, repeatable: call.repeatable ?? true, random: Math.random() },
        parts.limits,
      );
      if (step.holdMs > 0) parts.gate.hold(step.holdMs, 'the review service asked for fewer requests');
      if (step.action === 'unknown-outcome') throw new UnknownOutcomeError(circumstances(call, verdict));
      parts.stopped.throwIfAborted();
      if (step.action === 'give-up')
        throw givenUp(verdict.failure, { ...circumstances(call, verdict), hint: verdict.hint });
      const reason = `${call.method} ${call.path}: ${verdict.words ?? verdict.failure.kind}`;
      parts.onRetry({ untilMs: now() + step.delayMs, reason }, step.delayMs);
      await pause(step.delayMs, parts.stopped);
      waitedMs += step.delayMs;
      number += 1;
    }
  }
}

/** Two tokens that nobody got in with; four in all, since a path may say 401 for ever while others prove each token good. */
function isEnough(refused: readonly Token[]): boolean {
  return refused.length >= 4 || refused.filter((token) => !token.accepted).length >= 2;
}

function circumstances(call: Call, verdict: Verdict<unknown>): Circumstances {
  return { method: call.method, path: call.path, status: verdict.status, words: verdict.words };
}

function finalError(call: Call, verdict: Verdict<unknown>): Error {
  const at = circumstances(call, verdict);
  if (call.path === '/oauth/token') {
    // No answer about the credentials at all: there is no such path, or it leads elsewhere.
    const isElsewhere = at.status === 404 || at.status === 405 || (at.status !== undefined && at.status < 400);
    const hint = isElsewhere
      ? 'see whether the base address is the one below which /oauth/token and /v1 lie'
      : plainWordsOf(new Error(at.words))?.mend;
    return new AuthenticationError({ ...at, hint });
  }
  return verdict.kind === 'absent' ? new NotFoundError(at) : new RefusedError(at);
}

function givenUp(failure: Failure, at: Circumstances): Error {
  switch (failure.kind) {
    case 'limited':
      return new LimitedError(at);
    case 'malformed':
      return new MalformedAnswerError(at);
    case 'unsent':
      return new UnavailableError(at, !failure.hopeless);
    case 'lost':
    case 'failed':
      return new UnavailableError(at);
    default:
      return failure satisfies never;
  }
}

/** What was sent about a customer: an error that quotes it back must not show it. */
function privateParams(call: Call): string[] {
  const fields = ['user_email', 'user_phone', 'user_name', 'user_code', 'usernames'] as const;
  const texts = fields.map((field) => call.params?.[field]).filter((value) => typeof value === 'string');
  return texts.flatMap((text) => [text, ...text.split(',')]);
}
