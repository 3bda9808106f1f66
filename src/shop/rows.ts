import { isStorable, isTooLong, longestCode, normalText } from '../base/codes.ts';
import { isRecord, parsedJson } from '../base/json-text.ts';
import { shownValue } from '../base/mask.ts';

/**
 * A row of a shop query. Every value is the database's own text, so that nothing is rounded. A date is an instant in
 * ISO 8601 with microseconds (`2026-11-21T16:00:00.000004Z`), or `year N` or `infinity` if it is out of range.
 */
export type RawRow = Readonly<Record<string, string | null>>;

/** A row that meets the contract, or its faults. */
export type Read<T> = { row: T } | { fault: string };

class RowFault extends Error {}

/** Queries and service may write a text in two Unicode forms, also the code of a product or a member grade. */
const normalTextIfAny = (value: string | undefined) => (value === undefined ? undefined : normalText(value));

/** Empty text means null: sent as a code, it would name every record. */
function text(raw: RawRow, name: string): string | undefined {
  const value = raw[name];
  if (value === undefined || value === null || value.trim() === '') return undefined;
  if (!isStorable(value)) throw new RowFault(`${name} holds a character that cannot be stored (${unstorable})`);
  return value;
}

/** The characters that `isStorable` does not accept. */
const unstorable = 'the character \\u0000, or half of a surrogate pair';

function required(raw: RawRow, name: string): string {
  const value = text(raw, name);
  if (value === undefined) {
    throw new RowFault(`${name} is ${raw[name] === '' ? 'an empty text' : 'null'}, expected a value`);
  }
  return value;
}

/** A text as it is sent and compared. The code of an order, a line or a category stays as the shop writes it. */
const words = (raw: RawRow, name: string): string | undefined => normalTextIfAny(text(raw, name));

const requiredWords = (raw: RawRow, name: string): string => normalText(required(raw, name));

function optionalCode(raw: RawRow, name: string): string | undefined {
  const value = text(raw, name);
  if (value === undefined || !isTooLong(value)) return value;
  throw new RowFault(`${name} has ${Buffer.byteLength(value)} bytes, expected at most ${longestCode}`);
}

/** A key of the warehouse's tables. */
const code = (raw: RawRow, name: string): string => optionalCode(raw, name) ?? required(raw, name);

const productCode = (raw: RawRow, name: string): string | undefined => normalTextIfAny(optionalCode(raw, name));

const date = (raw: RawRow, name: string): Date => dateOf(name, required(raw, name));

function dateOf(name: string, value: string): Date {
  // Date would read `year 44` as a year of this century.
  const date = new Date(/^\d{4}-\d\d-\d\dT/.test(value) ? value : Number.NaN);
  if (!Number.isNaN(date.getTime())) return date;
  const expected = 'expected a date from 0001-01-03 to 9999-12-28, or null';
  throw new RowFault(`${name} is out of range (${shownValue(value)}), ${expected}`);
}

function moment(raw: RawRow, name: string): Date | undefined {
  const value = text(raw, name);
  return value === undefined ? undefined : dateOf(name, value);
}

/** An instant with the microseconds that a Date would cut; undefined if the query has no such column. */
function momentText(raw: RawRow, name: string): string | undefined {
  if (raw[name] === undefined) return undefined;
  const value = required(raw, name);
  dateOf(name, value);
  return value;
}

/** In hundredths, exact as an integer and as a float: services use both (docs/interface.md, "Money object"). */
const amountAtMost = 90_000_000_000_000;

function money(raw: RawRow, name: string): string {
  const value = required(raw, name);
  if (!/^-?\d+(\.\d+)?$/.test(value)) throw new RowFault(`${name} is ${shownValue(value)}, expected an amount`);
  if (Math.abs(Number(value)) <= amountAtMost) return value;
  throw new RowFault(`${name} is ${shownValue(value)}, expected an amount of at most ${amountAtMost}`);
}

const integer = (least: number, most: number) => (raw: RawRow, name: string) => {
  const value = text(raw, name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new RowFault(`${name} is ${shownValue(value)}, expected a whole number from ${least} to ${most}`);
};

const oneOf =
  <T extends string>(...allowed: readonly T[]) =>
  (raw: RawRow, name: string) => {
    const value = text(raw, name);
    const found = allowed.find((one) => one === value);
    if (value === undefined || found !== undefined) return found;
    throw new RowFault(`${name} is ${shownValue(value)}, expected ${allowed.join(' or ')}`);
  };

function options(raw: RawRow, name: string): Record<string, string> {
  const value = text(raw, name);
  const expected = 'expected an object whose values are texts or numbers, such as {"Size": "L"}';
  const parsed = value === undefined ? {} : parsedJson(value, withDigits);
  if (isNothing(parsed)) return {};
  if (!isRecord(parsed)) throw new RowFault(`${name} is ${shownValue(parsed ?? value)}, ${expected}`);
  const found: [string, string][] = [];
  for (const [key, one] of Object.entries(parsed)) {
    if (isNothing(one)) continue;
    if (typeof one === 'object') throw new RowFault(`${name} has a value that is ${shownValue(one)}, ${expected}`);
    const [option, text] = [normalText(key), normalText(String(one))];
    if (!isStorable(option) || !isStorable(text))
      throw new RowFault(`${name} holds a character that cannot be stored (${unstorable})`);
    if (text !== '') found.push([option, text]);
  }
  return Object.fromEntries(found);
}

/** A number with more digits than a double holds, such as a serial number, becomes the shop's text. */
const withDigits = (_: string, value: unknown, context?: { source?: string }) =>
  typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER ? context?.source : value;

/** PHP writes an object without fields as `[]`, and a form writes nothing as `""`. */
const isNothing = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** The kind of a column of the contract. A date without zone is read in SHOP_TIME_ZONE. */
export type ColumnKind = 'key' | 'text' | 'timestamptz' | 'numeric' | 'integer' | 'bigint' | 'jsonb';

/** A column of a shop query, and how its value is read. */
export type Column<T = unknown> = Readonly<{
  name: string;
  kind: ColumnKind;
  required: boolean;
  /** @throws RowFault if the value breaks the contract. */
  read: (raw: RawRow, name: string) => T;
}>;

type Columns = Readonly<Record<string, Column>>;

type RowOf<C extends Columns> = { readonly [Field in keyof C]: ReturnType<C[Field]['read']> };

const must = <T>(name: string, kind: ColumnKind, read: Column<T>['read']) => ({ name, kind, required: true, read });
const may = <T>(name: string, kind: ColumnKind, read: Column<T>['read']) => ({ name, kind, required: false, read });

const orders = {
  code: must('code', 'key', code),
  createdAt: must('created_at', 'timestamptz', date),
  /** ISO 8601 with microseconds, in UTC. A shop with a change feed need not have it. */
  updatedAt: must('updated_at', 'timestamptz', momentText),
  /** Decimal text. */
  totalPrice: must('total_price', 'numeric', money),
  userCode: may('user_code', 'key', words),
  userName: may('user_name', 'text', words),
  userPhone: may('user_phone', 'text', words),
  userEmail: may('user_email', 'text', words),
  userGradeCode: may('user_grade_code', 'key', words),
  storeName: may('store_name', 'text', words),
  orderDevice: may('order_device', 'text', oneOf('pc', 'mobile')),
  mileage: may('mileage', 'integer', integer(-2_147_483_648, 2_147_483_647)),
  deletedAt: may('deleted_at', 'timestamptz', moment),
};

const lines = {
  orderCode: must('order_code', 'key', required),
  lineCode: must('line_code', 'key', code),
  productId: may('product_id', 'bigint', integer(1, Number.MAX_SAFE_INTEGER)),
  productCode: may('product_code', 'key', productCode),
  /** Decimal text. */
  price: must('price', 'numeric', money),
  status: may('status', 'text', words),
  deliveryStartedAt: may('delivery_started_at', 'timestamptz', moment),
  deliveredAt: may('delivered_at', 'timestamptz', moment),
  invoice: may('invoice', 'text', words),
  deliveryService: may('delivery_service', 'text', words),
  productOptions: may('product_options', 'jsonb', options),
};

const categories = {
  code: must('code', 'key', code),
  name: must('name', 'text', requiredWords),
  parentCode: may('parent_code', 'key', text),
  status: may('status', 'text', oneOf('visible', 'hidden')),
};

const grades = {
  code: must('code', 'key', (raw, name) => normalText(code(raw, name))),
  name: must('name', 'text', requiredWords),
  iconUrl: may('icon_url', 'text', text),
};

/** The columns of each shop query (docs/connecting.md). */
export const contract = {
  orders: Object.values<Column>(orders),
  order_lines: Object.values<Column>(lines),
  changed_orders: [must('code', 'key', code), must('changed_at', 'timestamptz', date)] as readonly Column[],
  categories: Object.values<Column>(categories),
  user_grades: Object.values<Column>(grades),
};

export type QueryName = keyof typeof contract;

export type Order = RowOf<typeof orders>;
export type OrderLine = RowOf<typeof lines>;
export type UserGrade = RowOf<typeof grades>;

/** Returns the function that checks a row against these columns. */
function checkOf<C extends Columns>(columns: C) {
  const fields = Object.entries(columns);
  return (raw: RawRow): Read<RowOf<C>> => {
    try {
      const row: Record<string, unknown> = {};
      for (const [field, { name, read }] of fields) row[field] = read(raw, name);
      return { row: row as RowOf<C> };
    } catch (error) {
      if (error instanceof RowFault) return { fault: error.message };
      throw error;
    }
  };
}

export const readOrder = checkOf(orders);
export const readCategory = checkOf(categories);
export const readUserGrade = checkOf(grades);
const checkLine = checkOf(lines);

export function readOrderLine(raw: RawRow): Read<OrderLine> {
  const read = checkLine(raw);
  if ('fault' in read || (read.row.productId ?? read.row.productCode) !== undefined) return read;
  return { fault: 'product_id and product_code are both empty, expected one of them' };
}
