import { isStorable, isTooLong, longestCode, normalText } from '../base/codes.ts';
import { shownValue } from '../base/mask.ts';

/**
 * A row of a shop query. Every value is the database's own text, so that nothing is rounded. A date is an instant in ISO
 * 8601 with microseconds (`2026-11-21T16:00:00.000004Z`), or `year N` or `infinity` if it is out of range.
 */
export type RawRow = Readonly<Record<string, string | null>>;

/** A row that keeps to the contract, or its faults. */
export type Read<T> = { row: T } | { fault: string };

export type Order = Readonly<ReturnType<typeof orderOf>>;
export type OrderLine = Readonly<ReturnType<typeof lineOf>>;
export type Category = Readonly<ReturnType<typeof categoryOf>>;
export type UserGrade = Readonly<ReturnType<typeof gradeOf>>;

export const readOrder = (raw: RawRow): Read<Order> => checkRow(raw, orderOf);
export const readOrderLine = (raw: RawRow): Read<OrderLine> => checkRow(raw, lineOf);
export const readCategory = (raw: RawRow): Read<Category> => checkRow(raw, categoryOf);
export const readUserGrade = (raw: RawRow): Read<UserGrade> => checkRow(raw, gradeOf);

const orderOf = (raw: RawRow) => ({
  code: code(raw, 'code'),
  createdAt: dateOf('created_at', required(raw, 'created_at')),
  /** ISO 8601 with microseconds, in UTC. A shop with a change feed need not have it. */
  updatedAt: momentText(raw, 'updated_at'),
  /** Decimal text. */
  totalPrice: money(raw, 'total_price'),
  userCode: words(raw, 'user_code'),
  userName: words(raw, 'user_name'),
  userPhone: words(raw, 'user_phone'),
  userEmail: words(raw, 'user_email'),
  userGradeCode: text(raw, 'user_grade_code'),
  storeName: words(raw, 'store_name'),
  orderDevice: oneOf(raw, 'order_device', ['pc', 'mobile']),
  mileage: integer(raw, 'mileage', -2_147_483_648, 2_147_483_647),
  deletedAt: moment(raw, 'deleted_at'),
});

const lineOf = (raw: RawRow) => ({
  orderCode: required(raw, 'order_code'),
  lineCode: code(raw, 'line_code'),
  ...product(raw),
  /** Decimal text. */
  price: money(raw, 'price'),
  status: words(raw, 'status'),
  deliveryStartedAt: moment(raw, 'delivery_started_at'),
  deliveredAt: moment(raw, 'delivered_at'),
  invoice: words(raw, 'invoice'),
  deliveryService: words(raw, 'delivery_service'),
  productOptions: options(raw, 'product_options'),
});

const categoryOf = (raw: RawRow) => ({
  code: code(raw, 'code'),
  name: normalText(required(raw, 'name')),
  parentCode: text(raw, 'parent_code'),
  status: oneOf(raw, 'status', ['visible', 'hidden']),
});

const gradeOf = (raw: RawRow) => ({
  code: code(raw, 'code'),
  name: normalText(required(raw, 'name')),
  iconUrl: text(raw, 'icon_url'),
});

class RowFault extends Error {}

function checkRow<T>(raw: RawRow, read: (raw: RawRow) => T): Read<T> {
  try {
    return { row: read(raw) };
  } catch (error) {
    if (error instanceof RowFault) return { fault: error.message };
    throw error;
  }
}

/** The service and the shop may compose the characters of a product's code differently. */
export const normalCode = <T extends string | undefined>(code: T) =>
  (code === undefined ? code : normalText(code)) as T;

/** Empty text means the same as null: sent as a code it would name every record. */
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

/** A text for people, as it is sent and compared. A code is not for people: it stays as it is. */
const words = (raw: RawRow, name: string): string | undefined => normalCode(text(raw, name));

function optionalCode(raw: RawRow, name: string): string | undefined {
  const value = text(raw, name);
  if (value === undefined || !isTooLong(value)) return value;
  throw new RowFault(`${name} has ${Buffer.byteLength(value)} bytes, expected at most ${longestCode}`);
}

/** A key of the warehouse's tables. */
const code = (raw: RawRow, name: string): string => optionalCode(raw, name) ?? required(raw, name);

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

/** With the microseconds that a Date would cut; undefined if the query has no such column. */
function momentText(raw: RawRow, name: string): string | undefined {
  if (raw[name] === undefined) return undefined;
  const value = required(raw, name);
  dateOf(name, value);
  return value;
}

/** In hundredths it is exact as an integer and as a float: services use both (docs/interface.md, "Money object"). */
const amountAtMost = 90_000_000_000_000;

function money(raw: RawRow, name: string): string {
  const value = required(raw, name);
  if (!/^-?\d+(\.\d+)?$/.test(value)) throw new RowFault(`${name} is ${shownValue(value)}, expected an amount`);
  if (Math.abs(Number(value)) <= amountAtMost) return value;
  throw new RowFault(`${name} is ${shownValue(value)}, expected an amount of at most ${amountAtMost}`);
}

function integer(raw: RawRow, name: string, least: number, most: number): number | undefined {
  const value = text(raw, name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new RowFault(`${name} is ${shownValue(value)}, expected a whole number from ${least} to ${most}`);
}

function oneOf<T extends string>(raw: RawRow, name: string, allowed: readonly T[]): T | undefined {
  const value = text(raw, name);
  const found = allowed.find((one) => one === value);
  if (value === undefined || found !== undefined) return found;
  throw new RowFault(`${name} is ${shownValue(value)}, expected ${allowed.join(' or ')}`);
}

function product(raw: RawRow): { productId: number | undefined; productCode: string | undefined } {
  const productId = integer(raw, 'product_id', 1, Number.MAX_SAFE_INTEGER);
  const productCode = normalCode(optionalCode(raw, 'product_code'));
  if (productId !== undefined || productCode !== undefined) return { productId, productCode };
  throw new RowFault('product_id and product_code are both empty, expected one of them');
}

function options(raw: RawRow, name: string): Record<string, string> {
  const value = text(raw, name);
  const expected = 'expected an object whose values are texts or numbers, such as {"Size": "L"}';
  const parsed = value === undefined ? {} : (parsedJson(value) ?? {});
  if (isNothing(parsed)) return {};
  if (kindOf(parsed) !== 'an object') throw new RowFault(`${name} is ${kindOf(parsed)}, ${expected}`);
  const entries = Object.entries(parsed).filter(([, one]) => !isNothing(one));
  const other = entries.find(([, one]) => typeof one === 'object');
  if (other) throw new RowFault(`${name} has a value that is ${kindOf(other[1])}, ${expected}`);
  const texts = entries.map(([key, one]) => [normalText(key), normalText(String(one))] as const);
  if (!texts.flat().every(isStorable)) {
    throw new RowFault(`${name} holds a character that cannot be stored (${unstorable})`);
  }
  return Object.fromEntries(texts.filter(([, one]) => one !== ''));
}

/** PHP writes an object without fields as `[]`, and a form writes nothing as `""`. */
const isNothing = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** The value; text that is not JSON at all comes back as that text. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}
