import * as v from 'valibot';
import { isRecord, scalarText } from '../../base/json-text.ts';

/**
 * A body that does not fit the request. Internal: the client turns it into a retry or a `MalformedResponseError`. The
 * message names only the kind of value, because the value may be customer data.
 */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
}

export type JsonObject = Record<string, unknown>;

/** The shape of a record of the service, and the type it is read as. */
export type Shape<T> = v.GenericSchema<unknown, T>;

/** A value that `read` understands; `kind` says in an error what was expected. */
const scalar = <T>(kind: string, read: (value: unknown) => T | undefined) =>
  v.pipe(
    v.unknown(),
    v.rawTransform<unknown, T>(({ dataset, addIssue, NEVER }) => {
      const value = read(dataset.value);
      if (value !== undefined) return value;
      addIssue({ message: kind });
      return NEVER;
    }),
  );

export const text = scalar('text', scalarText);

/** An integer, or an integer as text: services send ids both ways. */
export const integer = scalar<number>('an integer', (value) => {
  const number = numberOf(value);
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
});

/** The id of a new record, for later requests. If the service failed to store the record, it may show 0. */
export const newId = v.pipe(integer, v.minValue(1, 'a positive integer'));

/** True or false, also as 1 or 0. */
const flag = scalar('true or false', (value) => {
  if (value === true || value === 1) return true;
  return value === false || value === 0 ? false : undefined;
});

export const textOrNull = v.nullish(text, null);
export const integerOrNull = v.nullish(integer, null);
/** Null also for an empty text and other values: one value must not make a whole order unreadable. */
export const integerIfAny = v.fallback(integerOrNull, null);
/** The id of another record; null also for 0, which may mean none. */
export const idIfAny = v.fallback(v.nullish(newId, null), null);
export const flagOrNull = v.nullish(flag, null);

/** A text that the service may leave out. If it does, the value is unknown. */
export const shownText = v.exactOptional(v.nullable(text));

const anObject = v.custom<JsonObject>(isRecord, 'an object');

/** An object with these fields. Other fields are kept unchanged, and are not in the type. */
export function record<const Entries extends v.ObjectEntries>(
  entries: Entries,
): v.GenericSchema<unknown, v.InferOutput<v.ObjectSchema<Entries, undefined>>> {
  return v.pipe(v.unknown(), anObject, v.looseObject(entries, 'a value')) as never;
}

/** An object with unchecked fields. */
export const anyRecord: Shape<JsonObject> = v.pipe(v.unknown(), anObject);

export const list = <T>(item: Shape<T>) => v.array(item, 'an array');

/** A list with unchecked items. */
export const anyList: Shape<unknown[]> = v.pipe(v.unknown(), v.custom<unknown[]>(Array.isArray, 'an array'));

/** A list. Null or absent: empty. */
export const listOrNone = <T>(item: Shape<T>) => v.nullish(list(item), () => []);

/** Option name to option value; empty if there are none. Services send `[]` there. */
export const options = v.nullish(
  v.pipe(
    v.unknown(),
    v.transform((value) => (Array.isArray(value) && value.length === 0 ? {} : value)),
    anObject,
    v.record(v.string(), v.nullish(text, '')),
  ),
  () => ({}),
);

/** An amount. Whether `cents` are hundredths or whole units depends on the currency (docs/service-facts.md). */
export type MoneyAmount = { cents: number; currency_iso: string };

/** Null if the service shows no amount, or in another form: one amount must not make a whole order unreadable. */
export const moneyOrNull: Shape<MoneyAmount | null> = v.fallback(
  v.nullish(record({ cents: integer, currency_iso: text }), null),
  null,
);

/** The value in its shape. @throws ShapeError that names the first field that is wrong. */
export function readShape<T>(shape: Shape<T>, value: unknown): T {
  const result = v.safeParse(shape, value, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const keys = (issue.path ?? []).map(({ key }) => key);
  const item = typeof keys[0] === 'number' ? `item ${keys[0] + 1} of the list: ` : '';
  const field = keys.filter((key) => typeof key === 'string').join('.');
  throw new ShapeError(`${item}expected ${issue.message}${field && ` as ${field}`}, got ${kindOf(issue.input)}`);
}

/** Converts an integer that came as text. Above 2^53 - 1, digits are lost. Above the largest double, it is Infinity. */
const numberOf = (value: unknown) => (typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value);

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'an array';
  const number = numberOf(value);
  if (typeof number !== 'number' || Number.isSafeInteger(number)) return typeof value;
  return Math.abs(number) > Number.MAX_SAFE_INTEGER ? 'a number beyond 2^53 - 1' : 'a number with a fraction';
}
