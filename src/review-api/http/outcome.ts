import { explainError } from '../../base/hints.ts';
import { parsedJson } from '../../base/json-text.ts';
import { mask } from '../../base/mask.ts';
import { durationText } from '../../base/time/duration.ts';
import {
  AuthenticationError,
  LimitedError,
  MalformedResponseError,
  NotFoundError,
  RefusedError,
  type ReviewApiError,
  UnavailableError,
  UnknownOutcomeError,
} from '../review-api-errors.ts';
import type { Call, HttpResponse } from './call.ts';
import { isError, isMissingStatus, isPage, jsonBesideText, NotConfirmedError } from './decode.ts';
import { type Failure, isUnknown, retryAfterMs } from './retry-policy.ts';
import type { Reply } from './send.ts';
import { ShapeError } from './shape.ts';

/**
 * A list that a cache has kept for longer is refused: it proves only the state of that time, and a backfill or `verify`
 * would end as if it had read the hours since. The next sync reads what a younger list may lack, by its overlap of an hour.
 */
const oldestOfUseMs = 3_600_000;

export const tokenPath = '/oauth/token';

/** A refused token, also in the statuses that some frameworks have for a session that ended. */
const tokenStatuses: readonly number[] = [401, 419, 440, 498];

/** How the text of another status names the token or the credentials, and not the record. */
const oauthError = /\b(?:invalid_token|(?:invalid|unauthorized)_client|token\b.{0,9}\bexpired)\b/i;
const namesToken = new Map([
  [200, oauthError],
  [400, oauthError],
  [422, oauthError],
  [403, /token|\bsession\b.*\bexpired\b/i],
]);

/**
 * What the result of a request means. `detail`, and `warning`, the text before the JSON, are masked. `status` is set if there
 * was a response.
 */
export type Outcome<T> = {
  status?: number;
  detail?: string | undefined;
  warning?: string;
  hint?: string | undefined;
} & ({ kind: 'success'; value: T } | { kind: 'token-refused' } | { kind: 'refused' } | Failure);

/** `secrets` must not appear in an error. */
type Reading = { secrets: readonly (string | undefined)[]; now: () => number };

/**
 * Classifies by status and shape (docs/service-facts.md): docs/interface.md describes neither the statuses of errors
 * nor their bodies.
 */
export function outcomeOf<T>(
  reply: Reply,
  call: Call,
  read: (response: HttpResponse) => T,
  { secrets: tokens, now }: Reading,
): Outcome<T> {
  // Only asked for if there is an error: it costs as much as encoding a request.
  const secrets = () => [...tokens, ...privateValues(call)];
  if (reply.kind === 'no-response') {
    const { detail, ...failure } = connectionFailure(reply.cause);
    return { ...failure, detail: mask(detail, secrets()) };
  }
  const { status, headers, ageMs, isStored, incomplete } = reply;
  const isMissing = isMissingStatus(status);
  const isSuccess = (status >= 200 && status <= 299) || (isMissing && call.notFoundIsSuccess === true);
  const isTooOld = isStored && (call.isOfNow || (call.method === 'GET' && ageMs > oldestOfUseMs));
  if (isTooOld && (isSuccess || isMissing)) {
    const detail = `it comes from a cache${ageMs > 0 ? ` and is ${durationText(ageMs / 1000)} old` : ''}`;
    return { kind: 'malformed', status, detail };
  }
  if (isSuccess && incomplete && status !== 204 && !isMissing) return { ...incomplete, status };
  const beside = isSuccess ? jsonBesideText(reply.bytes) : undefined;
  const bytes = beside?.json ?? reply.bytes;
  // Some services send errors with status 200.
  if (isSuccess && (isMissing || !isError(bytes))) {
    const warning = beside && errorText(beside.text, secrets());
    return { ...readWith(read, { ...reply, bytes }, secrets), ...(warning !== undefined && { warning }) };
  }

  // A redirect is never followed, since that would send the token elsewhere. Its target is shown without the query.
  const isRedirect = status >= 300 && status < 400;
  const target = isRedirect ? headers.location?.slice(0, 1000).split(/[?#]/)[0] : undefined;
  const detail =
    target === undefined
      ? errorText(bytes.toString(), secrets())
      : mask(`redirected to ${target}`, secrets()).slice(0, 300);
  const waitMs = retryAfterMs(headers['retry-after'], Date.parse(headers.date ?? '') || now());
  // A 403 that names a wait is about the number of requests, even if its text has the word "token".
  if (status === 429 || (status === 403 && waitMs !== undefined))
    return { kind: 'limited', retryAfterMs: waitMs, status, detail };
  const words = `${headers['www-authenticate'] ?? ''} ${detail ?? ''}`;
  if (tokenStatuses.includes(status) || namesToken.get(status)?.test(words)) {
    return { kind: 'token-refused', status, detail };
  }
  if (isSuccess) {
    const what = [`expected no error, got one with status ${status}`, detail].filter((part) => part !== undefined);
    return { kind: 'malformed', status, detail: what.join('; ').slice(0, 300) };
  }
  // A redirect, to a maintenance page for example, or a 304 of a cache, says nothing about this record. If the request for a
  // token is redirected, the address is wrong.
  if (status >= 500 || status === 408 || (isRedirect && call.path !== tokenPath)) {
    return { kind: 'failed', retryAfterMs: waitMs, status, detail };
  }
  return { kind: 'refused', status, detail };
}

function readWith<T>(
  read: (response: HttpResponse) => T,
  response: HttpResponse,
  secrets: () => (string | undefined)[],
): Outcome<T> {
  const { status, bytes } = response;
  try {
    return { kind: 'success', status, value: read(response) };
  } catch (error) {
    if (error instanceof NotConfirmedError) return { kind: 'not-confirmed', status, detail: error.message };
    if (!(error instanceof ShapeError)) throw error;
    // Only an HTML page is quoted: a JSON body may hold customers' data.
    const said = isPage(bytes) ? errorText(bytes.toString(), secrets()) : undefined;
    const what = (said === undefined ? error.message : `${error.message}; ${said}`).slice(0, 300);
    return { kind: 'malformed', status, detail: what };
  }
}

/** A host name with several addresses fails with an `AggregateError`; its parts hold the code. */
function systemError(error: unknown): Error & { code?: string; syscall?: string } {
  if (error instanceof AggregateError) return systemError(error.errors[0]);
  return error instanceof Error ? error : new Error('no response');
}

/** Only code and message of a connection error are shown: its other fields could hold the request. */
function connectionFailure(error: unknown): Failure & { detail: string; hint: string | undefined } {
  const { code = '', message, syscall } = systemError(error);
  // A certificate that is not valid, or a server without TLS although https is configured.
  const permanent =
    /^(CERT_|ERR_TLS_CERT|ERR_SSL_WRONG_VERSION|ERR_SSL_PACKET_LENGTH|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code);
  const isUnsent =
    permanent ||
    code === 'UND_ERR_CONNECT_TIMEOUT' ||
    code === 'UND_ERR_CLOSED' ||
    syscall === 'connect' ||
    syscall === 'getaddrinfo';
  const raw = [code, message.trim()].filter((part) => part).join(': ');
  const { what, hint } = explainError(error) ?? {};
  const detail = (what === undefined ? raw : `${what} (${raw})`).slice(0, 300);
  return isUnsent ? { kind: 'unsent', permanent, detail, hint } : { kind: 'lost', detail, hint };
}

/** The error that ends a call. */
export function errorOf(
  call: Call,
  outcome: Exclude<Outcome<unknown>, { kind: 'success' }>,
  attempts: number,
): ReviewApiError {
  const { status, detail, hint } = outcome;
  const context = { method: call.method, path: call.path, status, detail };
  if (outcome.kind === 'refused' || outcome.kind === 'token-refused') {
    if (call.path === tokenPath) return new AuthenticationError({ ...context, hint: tokenHint(status, detail) }, true);
    if (outcome.kind === 'token-refused') return new AuthenticationError(context);
    return isMissingStatus(status) ? new NotFoundError(context) : new RefusedError(context);
  }
  if (isUnknown(outcome, call)) return new UnknownOutcomeError({ ...context, attempts });
  const failed = { ...context, attempts, hint };
  if (outcome.kind === 'limited') return new LimitedError(failed);
  if (outcome.kind === 'malformed') return new MalformedResponseError(failed);
  const isUnsent = outcome.kind === 'unsent';
  return new UnavailableError(failed, !(isUnsent && outcome.permanent), isUnsent);
}

/** Some responses are not about the credentials: there is no such path, or it redirects. */
function tokenHint(status = 0, detail = ''): string | undefined {
  const isWrongAddress = status === 404 || status === 405 || (status >= 300 && status < 400);
  if (isWrongAddress) return 'check http or https in the base address, and that /oauth/token and /v1 follow it';
  return explainError(new Error(detail))?.hint;
}

/** Values about a customer that were sent: an error text that quotes them must not show them. */
const privateValues = ({ params = {}, privateParams = [] }: Call): string[] =>
  privateParams.flatMap((name) => {
    const text = params[name];
    if (typeof text !== 'string') return [];
    return [text, ...text.split(/[,\s]+/).filter((part) => part.length > 2 || !/^[\w.]*$/.test(part))];
  });

const maxLength = 300;

/** Some patterns below take time by the square of the length. */
const maxErrorText = 4000;

/**
 * The text of an error response: the strings of a JSON body, or the text of an HTML page. At most 300 characters.
 *
 * @param secrets values to mask whatever they look like: the token, and what was sent about the customer.
 * @returns undefined if the body holds no text.
 */
export function errorText(body: string, secrets: readonly (string | undefined)[] = []): string | undefined {
  const text = mask(plainText(body.slice(0, maxErrorText)), secrets);
  if (text === '') return undefined;
  // The cut may leave half a surrogate pair, which jsonb refuses.
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}

function plainText(body: string): string {
  const json = parsedJson(body);
  const text =
    json === undefined
      ? body.replace(/<(script|style|head)\b[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ')
      : [...fieldTexts(json)].join('; ');
  // Postgres stores no NUL: a gap or a dead letter with such a reason could not be written.
  return text
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/** The spec does not describe error bodies, so all strings and numbers are read, each with the name of its field. */
function* fieldTexts(value: unknown, field = ''): Generator<string> {
  if (typeof value === 'string' || typeof value === 'number') yield field === '' ? `${value}` : `${field}: ${value}`;
  else if (Array.isArray(value)) for (const item of value) yield* fieldTexts(item, field);
  else for (const [key, item] of Object.entries(value ?? {})) yield* fieldTexts(item, key);
}
