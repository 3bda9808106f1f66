import type { Context } from './records.ts';
import type { Answer, Params } from './session.ts';
import * as is from './statement.ts';

const isText = (value: unknown) => typeof value === 'string';
const isInteger = (value: unknown) => Number.isInteger(value);
/** ISO 8601 with milliseconds and a numeric offset (General conventions, 3). */
const isTime = (value: unknown) =>
  isText(value) &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:?\d\d$/.test(value) &&
  !Number.isNaN(Date.parse(value));
/** `cents` and the code of a currency (Resources, Money object). */
const isMoney = (value: unknown) => is.isRow(value) && isInteger(value.cents) && isText(value.currency_iso);

/** The types of the spec's tables. Each may be followed by ` or null` or by `, or absent`. */
const kinds = {
  integer: isInteger,
  'integer, 1 to 5': (value: unknown) => isInteger(value) && Number(value) >= 1 && Number(value) <= 5,
  number: (value: unknown) => typeof value === 'number',
  string: isText,
  '`visible` or `hidden`': (value: unknown) => value === 'visible' || value === 'hidden',
  boolean: (value: unknown) => typeof value === 'boolean',
  datetime: isTime,
  'money object': isMoney,
  array: Array.isArray,
  'array of objects': (value: unknown) => Array.isArray(value) && value.every(is.isRow),
  'array of string': (value: unknown) => Array.isArray(value) && value.every(isText),
  'object, string to string': (value: unknown) => is.isRow(value) && Object.values(value).every(isText),
} as const satisfies Record<string, (value: unknown) => boolean>;

export type Kind = `${keyof typeof kinds}${'' | ' or null' | ', or absent'}`;

function isOf(kind: Kind, value: unknown): boolean {
  const base = kind.replace(/ or null$|, or absent$/, '') as keyof typeof kinds;
  if (value === null && kind.endsWith(' or null')) return true;
  return (value === undefined && kind.endsWith(', or absent')) || kinds[base](value);
}

/** The fields of a table of the spec, by their types. */
export type FieldTable = readonly (readonly [kind: Kind, fields: string])[];

/**
 * One statement for each row of a table: the field is there, of that type.
 *
 * @param of what the table describes, such as `a category`.
 * @param sample gives one, or throws `CannotTell`.
 */
export function fieldStatements(
  section: string,
  of: string,
  table: FieldTable,
  sample: (context: Context) => Promise<is.Row>,
): is.Statement[] {
  const ofField = (kind: Kind, field: string) =>
    is.inSection(section)(`${of} has ${field}: ${kind}`, async ({ shared }) => {
      const found = (await shared(sample))[field];
      is.ensure(isOf(kind, found), `${field} ${is.show(found)}`, kind);
    });
  return table.flatMap(([kind, fields]) => fields.split(' ').map((field) => ofField(kind, field)));
}

type Value = string | number | readonly string[];

/** A row of a parameter table. `shownAs` is the field that shows it, `as` what it shows if not the same value. */
export type Parameter = {
  name: string;
  value: Value | ((context: Context) => Value | Promise<Value>);
  shownAs?: string;
  as?: (found: unknown, sent: Value) => boolean;
  note?: string;
  /** Why the field may be absent all the same. */
  absentWhere?: string;
};

/**
 * One statement for each parameter of a write: the service takes it, and shows it if the spec says by which field.
 *
 * @param write sends the parameter alone, with the other required ones, for a record whose name no other parameter has;
 *   `read` shows the record afterwards.
 */
export function parameterStatements(
  says: is.Says,
  table: {
    operation: string;
    parameters: readonly Parameter[];
    write: (context: Context, name: string, params: Params) => Promise<Answer>;
    read: (context: Context, answer: Answer) => Promise<is.Row>;
  },
): is.Statement[] {
  return table.parameters.map(({ name, value, shownAs, as, note, absentWhere }, index) => {
    const shown = shownAs === undefined ? 'is taken' : `is shown as ${shownAs}`;
    return says(`${table.operation}: ${name} ${shown}${note ? ` (${note})` : ''}`, async (context) => {
      const sent = typeof value === 'function' ? await value(context) : value;
      const answer = await table.write(context, `${name.replace('[]', '')}-${index}`, { [name]: sent });
      is.succeeds(answer);
      if (shownAs === undefined) return;
      const found = (await table.read(context, answer))[shownAs];
      if (found === undefined && absentWhere) throw new is.CannotTell(absentWhere);
      if (as === undefined) is.isSame(shownAs, found, sent);
      else if (!as(found, sent))
        throw new is.Differs(`${shownAs} ${is.show(found)}`, `what stands for ${is.show(sent)}`);
    });
  });
}

/** The same time, to the second. */
export const sameSecond = (found: unknown, sent: Value) =>
  Math.floor(Date.parse(String(found)) / 1000) === Math.floor(Date.parse(String(sent)) / 1000);

/** The amount in a money object: whether `cents` are hundredths depends on the currency. */
export function isAmount(found: unknown, sent: Value): boolean {
  const cents = typeof found === 'object' && found !== null && 'cents' in found ? Number(found.cents) : Number.NaN;
  return [1, 10, 100, 1000].includes(Math.round(cents / Number(sent)));
}

/** `<key>:<value>` pairs, shown as an object. */
export const isPairs = (found: unknown, sent: Value) =>
  typeof found === 'object' &&
  found !== null &&
  Array.isArray(sent) &&
  Object.entries(found)
    .map((pair) => pair.join(':'))
    .sort()
    .join() === [...sent].sort().join();
