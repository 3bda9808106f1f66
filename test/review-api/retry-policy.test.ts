import { errors } from 'undici';
import { expect, test } from 'vitest';
import { outcomeOf } from '../../src/review-api/http/outcome.ts';
import {
  type AttemptState,
  defaultRetryLimits,
  type Failure,
  isUnknown,
  nextWait,
} from '../../src/review-api/http/retry-policy.ts';
import type { Reply } from '../../src/review-api/http/send.ts';

const first = { number: 1, waitedMs: 0, spentMs: 0, random: 0.5 };
const failed: Failure = { kind: 'failed', retryAfterMs: undefined };

function nextStep(failure: Failure, attempt: AttemptState, limits = defaultRetryLimits) {
  const wait = nextWait(failure, attempt, limits);
  if (wait) return { action: 'repeat' as const, ...wait };
  return { action: isUnknown(failure, attempt) ? ('unknown-outcome' as const) : ('give-up' as const) };
}

test('the backoff doubles up to its ceiling, and is a random part of it', () => {
  const delays = [1, 2, 3, 7, 13].map((number) => nextStep(failed, { ...first, number }));
  expect(delays).toMatchObject([250, 500, 1000, 15_000, 15_000].map((delayMs) => ({ action: 'repeat', delayMs })));
  expect(nextStep(failed, { ...first, random: 0 })).toMatchObject({ delayMs: 0 });
});

test('about two minutes of waiting are spent before giving up', () => {
  let waitedMs = 0;
  for (let number = 1; ; number += 1) {
    const step = nextStep(failed, { ...first, number, waitedMs });
    if (step.action !== 'repeat') break;
    waitedMs += step.delayMs;
  }
  expect(waitedMs).toBeGreaterThan(90_000);
  expect(waitedMs).toBeLessThan(150_000);
  const actions = [119_999, 120_000].map((ms) => nextStep(failed, { ...first, waitedMs: ms }).action);
  expect(actions).toEqual(['repeat', 'give-up']);
});

const outcome = (reply: object) =>
  outcomeOf(reply as Reply, { method: 'POST', path: '/v1/orders' }, () => 0, { secrets: [], now: () => 0 });
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
  const failure = outcome({ kind: 'no-response', cause }) as Failure;
  const actions = [false, true].map((repeatable) => nextStep(failure, { ...first, repeatable }).action);
  expect(actions).toEqual([ofCreate, ofOthers]);
});

const asked = { 'retry-after': '7' };
const challenge = { 'www-authenticate': 'Bearer error="invalid_token"' };

test.for<[kind: string, status: number, body: object | string, headers?: object]>([
  ['token-refused', 401, '<html>Log in</html>'],
  ['token-refused', 419, ''],
  ['token-refused', 403, { error: 'The access token expired' }],
  ['token-refused', 403, { message: 'Your session has expired' }],
  ['token-refused', 403, '', challenge],
  ['token-refused', 400, { error: 'invalid_token' }],
  ['token-refused', 200, { error: 'invalid_token' }],
  ['refused', 403, { message: 'the sale of this product has expired' }],
  ['refused', 400, { message: 'the message has a token too much' }],
  ['refused', 409, ''],
  ['limited', 403, { message: 'the quota of this token is used up' }, asked],
  ['limited', 429, ''],
  ['failed', 408, ''],
  ['failed', 503, '<html>', asked],
  ['failed', 302, '', { location: 'https://elsewhere.example' }],
])('a response is %s by its status %i and the text %j', ([kind, status, body, headers = {}]) => {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const reply = { kind: 'response', status, headers, bytes, ageMs: 0, isStored: false };
  expect(outcome(reply).kind).toBe(kind);
});

const limited = (retryAfterMs?: number): Failure => ({ kind: 'limited', retryAfterMs });
const alone = { isAlone: true, giveUpAfterMs: 8_000 };
const spent = { number: 6, spentMs: 25_000, giveUpAfterMs: 30_000 };
const creation = { repeatable: false };
const giveUp = { action: 'give-up' };
const unknown = { action: 'unknown-outcome' };

test.each<[what: string, failure: Failure, attempt: object, step: object]>([
  ['a named wait holds everybody, with jitter', limited(7_000), {}, { pauseMs: 7_000, delayMs: 250 }],
  [
    'a wait is believed up to 24 hours',
    { kind: 'failed', retryAfterMs: 7 * 86_400_000 },
    {},
    { pauseMs: 86_400_000, delayMs: 250 },
  ],
  ['a 429 alone holds everybody for the backoff', limited(), {}, { pauseMs: 250, delayMs: 0 }],
  ['one that is refused alone waits alone', limited(7_000), alone, { pauseMs: 0, delayMs: 7_250 }],
  ['one that is refused alone keeps to its own limit', limited(9_000), alone, giveUp],
  ['the last attempt holds nobody', limited(9_000), { number: 14 }, giveUp],
  ['malformed answers are asked for again', { kind: 'malformed' }, { number: 3 }, { pauseMs: 0, delayMs: 1000 }],
  ['malformed answers four times only', { kind: 'malformed' }, { number: 4 }, giveUp],
  ['no wait exceeds the limit of a call', failed, spent, giveUp],
  ['a wait up to the limit of a call', failed, { ...spent, spentMs: 22_000 }, { pauseMs: 0, delayMs: 8_000 }],
  ['a 429 does not count against that limit', limited(60_000), spent, { pauseMs: 60_000, delayMs: 8_000 }],
  ['a creation that was not sent', { kind: 'unsent', permanent: false }, creation, { pauseMs: 0, delayMs: 250 }],
  ['a creation that met a 429', limited(), creation, { pauseMs: 250, delayMs: 0 }],
  ...(['lost', 'failed', 'malformed'] as const).map((kind): [string, Failure, object, object] => [
    `a creation whose response is ${kind}`,
    { kind, retryAfterMs: undefined },
    creation,
    unknown,
  ]),
  ['a write that was accepted for later', { kind: 'not-confirmed' }, {}, unknown],
])('%s', (_what, failure, attempt, step) => {
  const next = nextStep(failure, { ...first, ...attempt });
  expect(next).toEqual('action' in step ? step : { action: 'repeat', ...step });
});

test('a limit that counts the waits that the service asks for is kept', () => {
  const most = { ...first, giveUpAfterMs: 8_000, countsHolds: true };
  for (const kind of ['limited', 'failed'] as const) {
    const step = (retryAfterMs: number, spentMs = 0) => nextStep({ kind, retryAfterMs }, { ...most, spentMs });
    expect(step(5_000)).toMatchObject({ action: 'repeat', pauseMs: 5_000 });
    expect([step(5_000, 5_000), step(9_000)]).toEqual([{ action: 'give-up' }, { action: 'give-up' }]);
  }
});

test('malformed answers are asked for no more often than any other', () => {
  const limits = { ...defaultRetryLimits, attempts: 2 };
  expect(nextStep({ kind: 'malformed' }, { ...first, number: 2 }, limits)).toEqual(giveUp);
});
