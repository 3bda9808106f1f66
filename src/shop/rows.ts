import { isStorable, isTooLong, longestCode } from '../base/is-storable.ts';
import { shownValue } from '../base/mask.ts';
import { normalText } from '../base/normal-text.ts';

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

const orderOf = (read: Reader) => ({
  code: read.code('code'),
  createdAt: read.moment('created_at'),
  /** ISO 8601 with microseconds, in UTC. A shop with a change feed need not have it. */
  updatedAt: read.momentText('updated_at'),
  /** Decimal text. */
  totalPrice: read.money('total_price'),
  userCode: read.words('user_code'),
  userName: read.words('user_name'),
  userPhone: read.words('user_phone'),
  userEmail: read.words('user_email'),
  userGradeCode: read.text('user_grade_code'),
  storeName: read.words('store_name'),
  orderDevice: read.oneOf('order_device', ['pc', 'mobile']),
  mileage: read.integer('mileage', -2_147_483_648, 2_147_483_647),
  deletedAt: read.optionalMoment('deleted_at'),
});

const lineOf = (read: Reader) => ({
  orderCode: read.required('order_code'),
  lineCode: read.code('line_code'),
  ...product(read),
  /** Decimal text. */
  price: read.money('price'),
  status: read.words('status'),
  deliveryStartedAt: read.optionalMoment('delivery_started_at'),
  deliveredAt: read.optionalMoment('delivered_at'),
  invoice: read.words('invoice'),
  deliveryService: read.words('delivery_service'),
  productOptions: read.options('product_options'),
});

const categoryOf = (read: Reader) => ({
  code: read.code('code'),
  name: read.requiredWords('name'),
  parentCode: read.text('parent_code'),
  status: read.oneOf('status', ['visible', 'hidden']),
});

const gradeOf = (read: Reader) => ({
  code: read.code('code'),
  name: read.requiredWords('name'),
  iconUrl: read.text('icon_url'),
});

class RowFault extends Error {}

type Reader = ReturnType<typeof rowReader>;

function checkRow<T>(raw: RawRow, read: (reader: Reader) => T): Read<T> {
  try {
    return { row: read(rowReader(raw)) };
  } catch (error) {
    if (error instanceof RowFault) return { fault: error.message };
    throw error;
  }
}

/** The service and the shop may compose the characters of a product's code differently. */
export const normalCode = <T extends string | undefined>(code: T) =>
  (code === undefined ? code : normalText(code)) as T;

function product(read: Reader): { productId: number | undefined; productCode: string | undefined } {
  const productId = read.integer('product_id', 1, Number.MAX_SAFE_INTEGER);
  const productCode = normalCode(read.optionalCode('product_code'));
  if (productId === undefined && productCode === undefined) {
    throw new RowFault('product_id and product_code are both empty, expected one of them');
  }
  return { productId, productCode };
}

/** In hundredths it is exact as an integer and as a float: services use both (docs/interface.md, "Money object"). */
const amountAtMost = 90_000_000_000_000;

function rowReader(raw: RawRow) {
  /** Empty text means the same as null: sent as a code it would name every record. */
  const text = (name: string): string | undefined => {
    const value = raw[name];
    if (value === undefined || value === null || value.trim() === '') return undefined;
    if (!isStorable(value)) throw new RowFault(`${name} holds a character that cannot be stored (${unstorable})`);
    return value;
  };
  const required = (name: string): string => {
    const value = text(name);
    if (value === undefined)
      throw new RowFault(`${name} is ${raw[name] === '' ? 'an empty text' : 'null'}, expected a value`);
    return value;
  };
  const optionalCode = (name: string): string | undefined => {
    const value = text(name);
    if (value === undefined || !isTooLong(value)) return value;
    throw new RowFault(`${name} has ${Buffer.byteLength(value)} bytes, expected at most ${longestCode}`);
  };
  const dateOf = (name: string, value: string): Date => {
    // Date would read `year 44` as a year of this century.
    const date = new Date(/^\d{4}-\d\d-\d\dT/.test(value) ? value : Number.NaN);
    if (Number.isNaN(date.getTime())) {
      throw new RowFault(
        `${name} is out of range (${shownValue(value)}), expected a date of the years 1 to 9999 in UTC, or null`,
      );
    }
    return date;
  };
  return {
    text,
    required,
    /** A text for people, as it is sent and compared. A code is not for people: it stays as it is. */
    words: (name: string): string | undefined => normalCode(text(name)),
    requiredWords: (name: string): string => normalText(required(name)),
    optionalCode,
    /** A key of the warehouse's tables. */
    code: (name: string): string => optionalCode(name) ?? required(name),
    /** With the microseconds that a Date would cut; undefined if the query has no such column. */
    momentText(name: string): string | undefined {
      if (raw[name] === undefined) return undefined;
      const value = required(name);
      dateOf(name, value);
      return value;
    },
    moment: (name: string): Date => dateOf(name, required(name)),
    optionalMoment(name: string): Date | undefined {
      const value = text(name);
      return value === undefined ? undefined : dateOf(name, value);
    },
    money(name: string): string {
      const value = required(name);
      if (!/^-?\d+(\.\d+)?$/.test(value)) throw new RowFault(`${name} is ${shownValue(value)}, expected an amount`);
      if (Math.abs(Number(value)) > amountAtMost) {
        throw new RowFault(`${name} is ${shownValue(value)}, expected an amount of at most ${amountAtMost}`);
      }
      return value;
    },
    integer(name: string, least: number, most: number): number | undefined {
      const value = text(name);
      if (value === undefined) return undefined;
      const number = Number(value);
      if (!Number.isInteger(number) || number < least || number > most) {
        throw new RowFault(`${name} is ${shownValue(value)}, expected a whole number from ${least} to ${most}`);
      }
      return number;
    },
    oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
      const value = text(name);
      const found = allowed.find((one) => one === value);
      if (value !== undefined && found === undefined) {
        throw new RowFault(`${name} is ${shownValue(value)}, expected ${allowed.join(' or ')}`);
      }
      return found;
    },
    options(name: string): Record<string, string> {
      const value = text(name);
      const expected = 'expected an object whose values are texts or numbers, such as {"Size": "L"}';
      const parsed = value === undefined ? {} : (parsedJson(value) ?? {});
      // PHP writes an object without fields like the first, a form writes nothing like the second.
      if (parsed === '' || (Array.isArray(parsed) && parsed.length === 0)) return {};
      if (kindOf(parsed) !== 'an object') throw new RowFault(`${name} is ${kindOf(parsed)}, ${expected}`);
      const entries = Object.entries(parsed).filter(([, one]) => one !== null && one !== '');
      const other = entries.find(([, one]) => typeof one === 'object');
      if (other) throw new RowFault(`${name} has a value that is ${kindOf(other[1])}, ${expected}`);
      const texts = entries.map(([key, one]) => [normalText(key), normalText(String(one))] as const);
      if (!texts.flat().every(isStorable)) {
        throw new RowFault(`${name} holds a character that cannot be stored (${unstorable})`);
      }
      return Object.fromEntries(texts.filter(([, one]) => one !== ''));
    },
  };
}

/** The characters that `isStorable` does not accept. */
const unstorable = 'the character \\u0000, or half of a surrogate pair';

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
