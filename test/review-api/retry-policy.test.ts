import { errors } from 'undici';
import { expect, test } from 'vitest';
import { outcomeOf } from '../../src/review-api/http/outcome.ts';
import {
  asksToWait,
  backoffOf,
  type Failure,
  isFinal,
  isUnknown,
  limitsOf,
  mostAttempts,
  ownWait,
} from '../../src/review-api/http/retry-policy.ts';
import type { Reply } from '../../src/review-api/http/send.ts';

const defaultRetryLimits = limitsOf();
const first = { number: 1, spentMs: 0 };
const failed: Failure = { kind: 'failed', retryAfterMs: undefined };

/** What follows an attempt if the service asks the same of no other request. The backoff of the first is 250 ms. */
function next(failure: Failure, call: object = {}, spent: object = {}, limits = defaultRetryLimits): unknown {
  const all = { ...first, ...spent };
  if (isUnknown(failure, call)) return 'unknown outcome';
  const backoffMs = backoffOf(all.number, 0.5, limits);
  if (isFinal(failure, call) || all.number >= mostAttempts(failure, limits)) return 'end';
  return ownWait(failure, backoffMs, call, all.spentMs, limits) ?? 'end';
}

test('the backoff doubles up to its ceiling, and is a random part of it', () => {
  const delays = [1, 2, 3, 7, 13].map((number) => backoffOf(number, 0.5, defaultRetryLimits));
  expect(delays).toEqual([250, 500, 1000, 15_000, 15_000]);
  expect(backoffOf(1, 0, defaultRetryLimits)).toBe(0);
});

test('about two minutes are spent before giving up', () => {
  let spentMs = 0;
  for (let number = 1; ; number += 1) {
    const waitMs = next(failed, {}, { number, spentMs });
    if (typeof waitMs !== 'number') break;
    spentMs += waitMs;
  }
  expect(spentMs).toBeGreaterThan(90_000);
  expect(spentMs).toBeLessThanOrEqual(120_000);
});

const outcome = (reply: object) =>
  outcomeOf(reply as Reply, { method: 'POST', path: '/v1/orders' }, () => 0, [], Date.now);
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
  [failing('ECONNRESET', 'read'), 'unknown outcome', 'repeat'],
  [failing('EPIPE', 'write'), 'unknown outcome', 'repeat'],
  [failing('ETIMEDOUT', 'read'), 'unknown outcome', 'repeat'],
  [new errors.SocketError('other side closed'), 'unknown outcome', 'repeat'],
  [new errors.HeadersTimeoutError(), 'unknown outcome', 'repeat'],
  [new errors.BodyTimeoutError(), 'unknown outcome', 'repeat'],
  [failing('CERT_HAS_EXPIRED'), 'end', 'end'],
  [failing('DEPTH_ZERO_SELF_SIGNED_CERT'), 'end', 'end'],
  [failing('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'end', 'end'],
  [failing('ERR_SSL_WRONG_VERSION_NUMBER'), 'end', 'end'],
])('after %s a creation ends with %s, a read or an upsert with %s', ([cause, ofCreate, ofOthers]) => {
  const failure = outcome({ kind: 'no-response', cause }) as Failure;
  const ends = [false, true].map((repeatable) => next(failure, { repeatable }));
  expect(ends.map((end) => (typeof end === 'number' ? 'repeat' : end))).toEqual([ofCreate, ofOthers]);
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
  ['token-refused', 422, { message: 'Token has expired' }],
  ['token-refused', 200, { error: 'invalid_token' }],
  ['token-refused', 200, { success: false, message: 'Access token has expired' }],
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
const most = { giveUpAfterMs: 8_000 };
const spent = { number: 6, spentMs: 25_000 };
const creation = { repeatable: false };

test.each<[what: string, failure: Failure, call: object, spent: object, next: unknown]>([
  ['a wait that the service names, and a random one', limited(7_000), {}, {}, 7_250],
  ['a wait after a 429 without one', limited(), {}, {}, 250],
  ['no wait beyond the limit of the call', limited(9_000), most, {}, 'end'],
  ['no wait beyond the limit of all calls', limited(3_600_000), {}, {}, 'end'],
  ['no fifteenth attempt', limited(1_000), {}, { number: 14 }, 'end'],
  ['no wait exceeds what is left', failed, { giveUpAfterMs: 32_999 }, spent, 'end'],
  ['a wait up to what is left', failed, { giveUpAfterMs: 33_000 }, spent, 8_000],
  ['a creation that was not sent', { kind: 'unsent' }, creation, {}, 250],
  ['a creation that met a 429', limited(), creation, {}, 250],
])('%s', (_what, failure, call, at, expected) => {
  expect(next(failure, call, at)).toBe(expected);
});

test('a 429 asks to wait, and a failure if it names a wait', () => {
  const failures: Failure[] = [limited(), failed, { kind: 'failed', retryAfterMs: 0 }, { kind: 'lost' }];
  expect(failures.map(asksToWait)).toEqual([true, false, true, false]);
});
