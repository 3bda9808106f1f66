import { ensure, isRow, type Row, show } from './expect.ts';
import type { Session } from './session.ts';
import { type Check, inSection, type Statement } from './statement.ts';

const isText = (value: unknown) => typeof value === 'string';
const isInteger = (value: unknown) => Number.isInteger(value);
/** ISO 8601 with milliseconds and a numeric offset (General conventions, 3). */
const isTime = (value: unknown) =>
  isText(value) &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:?\d\d$/.test(value) &&
  !Number.isNaN(Date.parse(value));
/** `cents` and the code of a currency (Resources, Money object). */
const isMoney = (value: unknown) => isRow(value) && isInteger(value.cents) && isText(value.currency_iso);
const orNull = (test: (value: unknown) => boolean) => (value: unknown) => value === null || test(value);
const orAbsent = (test: (value: unknown) => boolean) => (value: unknown) => value === undefined || test(value);
const isTexts = (value: unknown) => isRow(value) && Object.values(value).every(isText);

/** The types of the spec's tables. */
const kinds = {
  integer: isInteger,
  'integer or null': orNull(isInteger),
  'integer, 1 to 5': (value: unknown) => isInteger(value) && Number(value) >= 1 && Number(value) <= 5,
  'integer, or absent': orAbsent(isInteger),
  number: (value: unknown) => typeof value === 'number',
  string: isText,
  'string or null': orNull(isText),
  'string, or absent': orAbsent(isText),
  '`visible` or `hidden`': (value: unknown) => value === 'visible' || value === 'hidden',
  boolean: (value: unknown) => typeof value === 'boolean',
  datetime: isTime,
  'datetime or null': orNull(isTime),
  'money object': isMoney,
  array: Array.isArray,
  'array of objects': (value: unknown) => Array.isArray(value) && value.every(isRow),
  'array of string': (value: unknown) => Array.isArray(value) && value.every(isText),
  'array of string, or absent': orAbsent((value) => Array.isArray(value) && value.every(isText)),
  'object, string to string': isTexts,
  'object, string to string, or absent': orAbsent(isTexts),
} as const satisfies Record<string, (value: unknown) => boolean>;

export type Kind = keyof typeof kinds;

/** A table of the spec as data: field, type, and what its note adds. */
export type FieldTable = readonly (readonly [field: string, kind: Kind, note?: string])[];

/**
 * One statement for each row of a table: the field is there, of that type.
 *
 * @param of what the table describes, such as `a category`.
 * @param sample gives one, or throws `CannotTell`.
 */
export function fieldStatements(table: {
  section: string;
  of: string;
  fields: FieldTable;
  sample: (session: Session) => Promise<Row>;
}): Statement[] {
  const says = inSection(table.section);
  return table.fields.map(([field, kind, note]) => {
    const check: Check = async (session) => {
      const found = (await session.shared(table.sample))[field];
      ensure(kinds[kind](found), `${field} ${show(found)}`, kind);
    };
    return says(`${table.of} has ${field}: ${kind}${note ? ` (${note})` : ''}`, check);
  });
}
