import { isUtf8 } from 'node:buffer';
import type { HttpResponse } from './call.ts';

/**
 * A response with a success status whose body is not what the request returns. Internal: the transport turns it into a
 * retry or a `MalformedResponseError`. The message names the kind of value only, since the value may be a customer's
 * data.
 */
export class ShapeError extends Error {
  override readonly name: string = 'ShapeError';
}

/**
 * A number that loses digits in JSON: a property of the record, so that every later response shows it too. Internal, as
 * `ShapeError`.
 */
export class TooLargeError extends ShapeError {
  override readonly name = 'TooLargeError';
}

/** A response without a body that says something other than "carried out". Internal, as `ShapeError`. */
export class NotConfirmedError extends Error {
  override readonly name = 'NotConfirmedError';
}

export type JsonObject = Record<string, unknown>;

/** A body without a byte order mark, which `JSON.parse` refuses. */
export const withoutByteOrderMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

/** A body as text. */
export const textOf = (bytes: Buffer): string => withoutByteOrderMark(bytes).toString();

/**
 * The body as JSON. The message of the parser quotes the body, so it is dropped.
 *
 * @throws ShapeError where the body is no JSON, or not in UTF-8: decoding would change the text silently.
 */
export function parseJson(response: HttpResponse): unknown {
  if (!isUtf8(response.bytes)) throw new ShapeError('expected JSON in UTF-8, got other bytes');
  return parseAnyJson(response);
}

/** As `parseJson`, with U+FFFD for bytes that are not UTF-8: for callers that keep the bytes and check each record. */
export function parseAnyJson(response: HttpResponse): unknown {
  const text = textOf(response.bytes);
  try {
    return JSON.parse(text);
  } catch {
    const found = text.trim() === '' ? 'an empty body' : text.trimStart().startsWith('<') ? 'HTML' : 'text';
    throw new ShapeError(`expected JSON, got ${found} with status ${response.status}`);
  }
}

/** Statuses by which the service says that it carried an update or a deletion out (docs/interface.md, "Errors"). */
const doneStatuses: readonly number[] = [200, 201, 204];

/**
 * Reads nothing: the body of an update or delete has no meaning, and its status says whether it was carried out. A 404
 * counts where the call takes it for a success.
 *
 * A web page with a success status does not come from the service but from a proxy or a log-in (docs/service-facts.md),
 * so nothing was carried out. A 404 may have one: web frameworks send it for any address.
 *
 * @throws ShapeError for a web page.
 * @throws NotConfirmedError for another status such as 202, "accepted": the service may carry the request out later, or
 *   never.
 */
export function ignoreBody({ status, bytes }: HttpResponse): void {
  if (status === 404) return;
  if (textOf(bytes).trimStart().startsWith('<')) {
    throw new ShapeError(`expected no web page, got HTML with status ${status}`);
  }
  if (!doneStatuses.includes(status)) throw new NotConfirmedError(`expected status 200, 201 or 204, got ${status}`);
}

/** Checks that a record requested or written by code has that code. A service may trim codes and ignore their case. */
export function requireSameCode(theirs: unknown, ours: string): void {
  if (asText(theirs, 'code').trim().toLowerCase() !== ours.trim().toLowerCase()) {
    throw new ShapeError('expected the record with this code, got another one');
  }
}

/**
 * The record, which was requested by its id. A proxy that mixes up responses must not pass another record off as this
 * one.
 */
export function withSameId<Item extends { id: number }>(item: Item, ours: number): Item {
  if (item.id !== ours) throw new ShapeError(`expected the record with this id, got another one (${item.id})`);
  return item;
}

export function asObject(value: unknown, what: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw expected('an object', what, value);
  return value as JsonObject;
}

export function asArray(value: unknown, what: string): unknown[] {
  if (!Array.isArray(value)) throw expected('an array', what, value);
  return value;
}

/** An integer, or an integer as text: services send ids both ways. @throws TooLargeError for one beyond 2^53 - 1. */
export function asInteger(value: unknown, what: string): number {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
  if (isTooLarge(number)) {
    throw new TooLargeError(`expected an integer up to ${Number.MAX_SAFE_INTEGER} as ${what}, got a larger one`);
  }
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw expected('an integer', what, value);
  return number;
}

/** Digits are lost from 2^53 on; what is beyond the largest double is Infinity. */
const isTooLarge = (value: unknown): boolean => typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;

export function asIntegerOrNull(value: unknown, what: string): number | null {
  return value === null || value === undefined ? null : asInteger(value, what);
}

/** Text, or a number as text: services send codes both ways. */
export function asText(value: unknown, what: string): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') throw expected('text', what, value);
  return value;
}

/** Text, or null where the field is null or absent. */
export function asTextOrNull(value: unknown, what: string): string | null {
  return value === null || value === undefined ? null : asText(value, what);
}

/** True or false, also as 1 or 0; null where the field is null or absent. */
export function asBooleanOrNull(value: unknown, what: string): boolean | null {
  if (value === null || value === undefined) return null;
  if (value === true || value === 1) return true;
  if (value === false || value === 0) return false;
  throw expected('true or false', what, value);
}

/** The named fields as text or null. */
export function textsOf<Name extends string>(object: JsonObject, names: readonly Name[]): Record<Name, string | null> {
  const entries = names.map((name) => [name, asTextOrNull(object[name], name)] as const);
  return Object.fromEntries(entries) as Record<Name, string | null>;
}

/** The named fields as integer or null. */
export function integersOf<Name extends string>(
  object: JsonObject,
  names: readonly Name[],
): Record<Name, number | null> {
  const entries = names.map((name) => [name, asIntegerOrNull(object[name], name)] as const);
  return Object.fromEntries(entries) as Record<Name, number | null>;
}

function expected(kind: string, what: string, value: unknown): ShapeError {
  const isFraction = typeof value === 'number' && !Number.isInteger(value);
  const type = isFraction ? 'a number with a fraction' : typeof value;
  const found = value === null ? 'null' : Array.isArray(value) ? 'an array' : value === undefined ? 'nothing' : type;
  return new ShapeError(`expected ${kind} as ${what}, got ${found}`);
}
