import type { Answer } from './call.ts';

/**
 * An answer with a success status that is not what was asked for. Internal: the transport turns it into a repeat or
 * a `MalformedAnswerError`. Says what was found by kind only, since the content may hold customers' data.
 */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
}

export type JsonObject = Record<string, unknown>;

/** A body as text, without a byte order mark, with which no JSON would be parsed. */
export function textOf(bytes: Buffer): string {
  const text = bytes.toString();
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** The body as JSON. The parser's own message quotes the body, so it is not kept. */
export function parseJson(answer: Answer): unknown {
  const text = textOf(answer.bytes);
  try {
    return JSON.parse(text);
  } catch {
    const found = text.trim() === '' ? 'an empty body' : text.trimStart().startsWith('<') ? 'HTML' : 'text';
    throw new ShapeError(`expected JSON, got ${found} with status ${answer.status}`);
  }
}

/** Answers whose body says nothing (updates and deletes). */
export const nothing = (): void => undefined;

/** Whether a record asked for by code is that record: a service may trim codes or ignore their case, no more. */
export function requireSameCode(theirs: unknown, ours: string): void {
  if (asText(theirs, 'code').trim().toLowerCase() !== ours.trim().toLowerCase()) {
    throw new ShapeError('expected the record with this code, got another one');
  }
}

export function asObject(value: unknown, what: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw expected('an object', what, value);
  return value as JsonObject;
}

export function asArray(value: unknown, what: string): unknown[] {
  if (!Array.isArray(value)) throw expected('an array', what, value);
  return value;
}

/** An integer, or the same as text: ids are seen both ways in the wild. */
export function asInteger(value: unknown, what: string): number {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw expected('an integer', what, value);
  return number;
}

export function asIntegerOrNull(value: unknown, what: string): number | null {
  return value === null || value === undefined ? null : asInteger(value, what);
}

/** Text; a number is taken as text, since codes are seen both ways. */
export function asText(value: unknown, what: string): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') throw expected('text', what, value);
  return value;
}

/** Text, or null where the field is null or absent. */
export function asTextOrNull(value: unknown, what: string): string | null {
  return value === null || value === undefined ? null : asText(value, what);
}

/** True or false, also as 1 or 0, as inputs have it; null where the field is null or absent. */
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
  const found =
    value === null ? 'null' : Array.isArray(value) ? 'an array' : value === undefined ? 'nothing' : typeof value;
  return new ShapeError(`expected ${kind} as ${what}, got ${found}`);
}
