import { explainError } from '../../base/hints.ts';
import { parsedJson } from '../../base/json-text.ts';
import { mask } from '../../base/mask.ts';
import { durationText } from '../../base/time/duration.ts';
import { type Call, type HttpResponse, tokenPath } from './call.ts';
import { isError, isMissingStatus, isPage, jsonBesideText } from './decode.ts';
import { type Failure, retryAfterMs } from './retry-policy.ts';
import type { Reply } from './send.ts';
import { ShapeError } from './shape.ts';

/**
 * A list that a cache has kept for longer is refused. It proves only the state of that time, and a backfill or `verify`
 * would end as if it had read later hours. The next sync reads what a younger list may lack: it overlaps by an hour.
 */
const oldestOfUseMs = 3_600_000;

/** Statuses of a refused token, with those that some frameworks send for an ended session. */
const tokenStatuses: readonly number[] = [401, 419, 440, 498];

/** The text of another status that is about the token or the credentials, and not about the record. */
const oauthError = /\b(?:invalid_token|(?:invalid|unauthorized)_client|token\b.{0,9}\bexpired)\b/i;
const namesToken = new Map([
  [200, oauthError],
  [400, oauthError],
  [422, oauthError],
  [403, /token|\bsession\b.*\bexpired\b/i],
]);

/** Statuses of a completed update or deletion (docs/interface.md, "Errors"). The last two are deletions. */
const doneStatuses: readonly number[] = [200, 201, 204, 404, 410];

/** The outcome of a request. `warning`: masked text around the JSON. */
export type Outcome<T> = { kind: 'success'; status: number; value: T; warning?: string | undefined } | Failure;

/** Classifies by status and shape (docs/service-facts.md): the spec describes no statuses and no bodies of errors. */
export function outcomeOf<T>(
  reply: Reply,
  call: Call,
  read: (response: HttpResponse) => T,
  /** Values that must not appear in an error. */
  secrets: readonly (string | undefined)[],
  now: () => number,
): Outcome<T> {
  // Called only for an error: collecting the private values costs as much as encoding a request.
  const shown = (text: string) => errorText(text, [...secrets, ...privateValues(call)]);
  if (reply.kind === 'no-response') return connectionFailure(reply.cause, shown);
  const { status, headers, ageMs, isStored, incomplete } = reply;
  const isMissing = isMissingStatus(status);
  const isSuccess = (status >= 200 && status <= 299) || (isMissing && call.method === 'DELETE');
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
    try {
      const value = read({ ...reply, bytes });
      // With 202 and other statuses, the service may carry the request out later, or never.
      if (call.method !== 'GET' && call.method !== 'POST' && !doneStatuses.includes(status))
        return { kind: 'not-confirmed', status, detail: `expected status 200, 201 or 204, got ${status}` };
      return { kind: 'success', status, value, warning: beside && shown(beside.text) };
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      // Only an HTML page is quoted, up to JSON in it: JSON may hold customers' data, or a token.
      const said = isPage(bytes) ? shown(bytes.toString())?.replace(/\s*[[{] ?["[{].*/, '') : undefined;
      return malformed(status, error.message, said || undefined);
    }
  }

  // A redirect is never followed, because that would send the token elsewhere. Its target is shown without the query.
  const isRedirect = status >= 300 && status < 400;
  const target = isRedirect ? headers.location?.split(/[?#]/)[0] : undefined;
  const detail = shown(target === undefined ? bytes.toString() : `redirected to ${target}`);
  const askedMs = retryAfterMs(headers['retry-after'], Date.parse(headers.date ?? '') || now());
  const failure = { status, detail, retryAfterMs: askedMs };
  // A 403 that names a wait is about the number of requests, even if its text has the word "token".
  if (status === 429 || (status === 403 && askedMs !== undefined)) return { kind: 'limited', ...failure };
  const words = `${headers['www-authenticate'] ?? ''} ${detail ?? ''}`;
  if (tokenStatuses.includes(status) || namesToken.get(status)?.test(words))
    return { kind: 'token-refused', ...failure };
  if (isSuccess) return malformed(status, `expected no error, got one with status ${status}`, detail);
  // A redirect, for example to a maintenance page, or a 304 of a cache says nothing about this record. If the token
  // request is redirected, the address is wrong.
  const isFailed = status >= 500 || status === 408 || (isRedirect && call.path !== tokenPath);
  return { kind: isFailed ? 'failed' : 'refused', ...failure };
}

const malformed = (status: number, what: string, quoted: string | undefined): Failure => ({
  kind: 'malformed',
  status,
  detail: (quoted === undefined ? what : `${what}; ${quoted}`).slice(0, maxLength),
});

/** Codes for an invalid certificate, or a server without TLS although https is configured. */
const untrusted = /^(CERT_|ERR_TLS_CERT|ERR_SSL_(WRONG_VERSION|PACKET_LENGTH)|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Only code and message of a connection error are shown: its other fields could hold the request. */
function connectionFailure(cause: unknown, shown: (text: string) => string | undefined): Failure {
  // A host name with several addresses fails with an AggregateError. Its parts hold the code.
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  const { code = '', message, syscall = '' } = Object(first) as { code?: string; message?: string; syscall?: string };
  const raw = [code, message?.trim()].filter((part) => part).join(': ') || 'no response';
  const { what, hint } = explainError(cause) ?? {};
  const failure = { detail: shown(what === undefined ? raw : `${what} (${raw})`), hint };
  if (untrusted.test(code)) return { kind: 'untrusted', ...failure };
  const isUnsent = /^UND_ERR_(CONNECT_TIMEOUT|CLOSED)$/.test(code) || /^(connect|getaddrinfo)$/.test(syscall);
  return { kind: isUnsent ? 'unsent' : 'lost', ...failure };
}

/** Sent values about a customer. If an error text quotes them, they are masked. */
const privateValues = ({ params = {}, privateParams = [] }: Call): string[] =>
  privateParams.flatMap((name) => {
    const text = params[name];
    if (typeof text !== 'string') return [];
    return [text, ...text.split(/[,\s]+/).filter((part) => part.length > 2 || !/^[\w.]*$/.test(part))];
  });

const maxLength = 300;
/** Some patterns below take quadratic time. */
const maxErrorText = 4000;

/**
 * The text of an error response: the strings of a JSON body, or the text of an HTML page. At most 300 characters;
 * undefined if the body has no text. `secrets` are always masked: the token, and values that were sent about the customer.
 */
export function errorText(body: string, secrets: readonly (string | undefined)[] = []): string | undefined {
  const text = mask(textOf(body.slice(0, maxErrorText)), secrets);
  if (text === '') return undefined;
  // The cut may leave half a surrogate pair, which jsonb refuses.
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}

function textOf(body: string): string {
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
