import { errors } from 'undici';
import { expect, test } from 'vitest';
import { outcomeOf } from '../../src/review-api/http/outcome.ts';
import { defaultRetryLimits, type Failure, nextStep } from '../../src/review-api/http/retry-policy.ts';

const first = { number: 1, waitedMs: 0, repeatable: true, random: 0.5 };
const failed: Failure = { kind: 'failed', retryAfterMs: undefined };

test('the backoff doubles up to its ceiling, and is a random part of it', () => {
  const delays = [1, 2, 3, 7, 13].map((number) => nextStep(failed, { ...first, number }, defaultRetryLimits));
  expect(delays).toMatchObject([250, 500, 1000, 15_000, 15_000].map((delayMs) => ({ action: 'repeat', delayMs })));
  expect(nextStep(failed, { ...first, random: 0 }, defaultRetryLimits)).toMatchObject({ delayMs: 0 });
});

test('about two minutes of waiting are spent before giving up', () => {
  let waitedMs = 0;
  for (let number = 1; ; number += 1) {
    const step = nextStep(failed, { ...first, number, waitedMs }, defaultRetryLimits);
    if (step.action !== 'repeat') break;
    waitedMs += step.delayMs;
  }
  expect(waitedMs).toBeGreaterThan(90_000);
  expect(waitedMs).toBeLessThan(150_000);
  const actions = [119_999, 120_000].map(
    (ms) => nextStep(failed, { ...first, waitedMs: ms }, defaultRetryLimits).action,
  );
  expect(actions).toEqual(['repeat', 'give-up']);
});

test('a write that must not be repeated is repeated only where it cannot have been done', () => {
  const write = { ...first, repeatable: false };
  const action = (failure: Failure) => nextStep(failure, write, defaultRetryLimits).action;
  expect(action({ kind: 'unsent', permanent: false })).toBe('repeat');
  expect(action({ kind: 'limited', retryAfterMs: undefined })).toBe('repeat');
  expect(action({ kind: 'lost' })).toBe('unknown-outcome');
  expect(action(failed)).toBe('unknown-outcome');
  expect(action({ kind: 'malformed' })).toBe('unknown-outcome');
});

const failing = (code: string, syscall?: string) => Object.assign(new Error(code), { code, syscall });

test.for<[cause: Error, ofCreate: string, ofOthers: string]>([
  [failing('ECONNREFUSED', 'connect'), 'repeat', 'repeat'],
  [failing('EHOSTUNREACH', 'connect'), 'repeat', 'repeat'],
  [failing('ETIMEDOUT', 'connect'), 'repeat', 'repeat'],
  [failing('ENOTFOUND', 'getaddrinfo'), 'repeat', 'repeat'],
  [failing('EAI_AGAIN', 'getaddrinfo'), 'repeat', 'repeat'],
  [new AggregateError([failing('ECONNREFUSED', 'connect'), failing('ECONNREFUSED', 'connect')]), 'repeat', 'repeat'],
  [new errors.ConnectTimeoutError(), 'repeat', 'repeat'],
  [new errors.ClientClosedError(), 'repeat', 'repeat'],
  [failing('ECONNRESET', 'read'), 'unknown-outcome', 'repeat'],
  [failing('EPIPE', 'write'), 'unknown-outcome', 'repeat'],
  [failing('ETIMEDOUT', 'read'), 'unknown-outcome', 'repeat'],
  [new errors.SocketError('other side closed'), 'unknown-outcome', 'repeat'],
  [new errors.HeadersTimeoutError(), 'unknown-outcome', 'repeat'],
  [new errors.BodyTimeoutError(), 'unknown-outcome', 'repeat'],
  [failing('CERT_HAS_EXPIRED'), 'give-up', 'give-up'],
  [failing('DEPTH_ZERO_SELF_SIGNED_CERT'), 'give-up', 'give-up'],
  [failing('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'give-up', 'give-up'],
  [failing('ERR_SSL_WRONG_VERSION_NUMBER'), 'give-up', 'give-up'],
])('after %s a creation ends with %s, a read or an upsert with %s', ([cause, ofCreate, ofOthers]) => {
  const call = { method: 'POST', path: '/v1/orders' } as Parameters<typeof outcomeOf>[1];
  const reading = { tokens: [], now: () => 0, maxBodyBytes: 1000 };
  const outcome = outcomeOf({ kind: 'no-response', cause } as Parameters<typeof outcomeOf>[0], call, () => 0, reading);
  if (outcome.kind !== 'failure') throw new Error(`it is ${outcome.kind}`);
  const actions = [false, true].map(
    (repeatable) => nextStep(outcome.failure, { ...first, repeatable }, defaultRetryLimits).action,
  );
  expect(actions).toEqual([ofCreate, ofOthers]);
});

test('a named wait holds everybody for as long as it says, 24 hours at most, and gets jitter on top', () => {
  const limited: Failure = { kind: 'limited', retryAfterMs: 7_000 };
  expect(nextStep(limited, first, defaultRetryLimits)).toEqual({ action: 'repeat', pauseMs: 7_000, delayMs: 250 });
  const nextWeek: Failure = { kind: 'failed', retryAfterMs: 7 * 86_400_000 };
  expect(nextStep(nextWeek, first, defaultRetryLimits)).toMatchObject({ pauseMs: 86_400_000 });
});

test('a request that is refused while others are carried out waits alone, within its own limit', () => {
  const alone = { ...first, isAlone: true, giveUpAfterMs: 8_000 };
  const limited: Failure = { kind: 'limited', retryAfterMs: 7_000 };
  expect(nextStep(limited, alone, defaultRetryLimits)).toEqual({ action: 'repeat', pauseMs: 0, delayMs: 7_250 });
  expect(nextStep({ ...limited, retryAfterMs: 9_000 }, alone, defaultRetryLimits)).toEqual({ action: 'give-up' });
});

test('a 429 without a named wait holds everybody for the backoff', () => {
  const limited: Failure = { kind: 'limited', retryAfterMs: undefined };
  expect(nextStep(limited, first, defaultRetryLimits)).toEqual({ action: 'repeat', pauseMs: 250, delayMs: 0 });
});

test('malformed answers are asked for again a few times only, a bad certificate makes it give up at once', () => {
  const at = (number: number) => ({ ...first, number });
  expect(nextStep({ kind: 'malformed' }, at(3), defaultRetryLimits).action).toBe('repeat');
  expect(nextStep({ kind: 'malformed' }, at(4), defaultRetryLimits).action).toBe('give-up');
  expect(nextStep({ kind: 'malformed' }, at(2), { ...defaultRetryLimits, attempts: 2 }).action).toBe('give-up');
  expect(nextStep({ kind: 'unsent', permanent: true }, at(1), defaultRetryLimits).action).toBe('give-up');
});

test('a call with a limit of its own starts no wait that would exceed it, and a 429 does not count', () => {
  const limited = { ...first, number: 6, spentMs: 25_000, giveUpAfterMs: 30_000 };
  expect(nextStep(failed, limited, defaultRetryLimits).action).toBe('give-up');
  expect(nextStep(failed, { ...limited, spentMs: 20_000 }, defaultRetryLimits).action).toBe('repeat');
  const tooMany: Failure = { kind: 'limited', retryAfterMs: 60_000 };
  expect(nextStep(tooMany, limited, defaultRetryLimits).action).toBe('repeat');
});
