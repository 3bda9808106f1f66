/** Rows of the shop queries as they come: every value the database's own text, so that nothing is rounded. */
export type RawRow = Readonly<Record<string, string | null>>;

export type OrderLine = Readonly<{
  orderCode: string;
  lineCode: string;
  productId: number | undefined;
  productCode: string | undefined;
  /** Decimal text. */
  price: string;
  status: string | undefined;
  deliveryStartedAt: Date | undefined;
  deliveredAt: Date | undefined;
  invoice: string | undefined;
  deliveryService: string | undefined;
  productOptions: Readonly<Record<string, string>>;
}>;

export type Order = Readonly<{
  code: string;
  createdAt: Date;
  /** The shop's text with microseconds, in UTC. */
  updatedAt: string;
  /** Decimal text. */
  totalPrice: string;
  userCode: string | undefined;
  userName: string | undefined;
  userPhone: string | undefined;
  userEmail: string | undefined;
  userGradeCode: string | undefined;
  storeName: string | undefined;
  orderDevice: 'pc' | 'mobile' | undefined;
  mileage: number | undefined;
  deletedAt: Date | undefined;
}>;

export type Category = Readonly<{
  code: string;
  name: string;
  parentCode: string | undefined;
  status: 'visible' | 'hidden' | undefined;
}>;
export type UserGrade = Readonly<{ code: string; name: string; iconUrl: string | undefined }>;

/** A row that keeps to the contract, or what of it does not. */
export type Read<T> = { row: T } | { fault: string };

export function readOrder(raw: RawRow): Read<Order> {
  return checked(raw, (read) => ({
    code: read.required('code'),
    createdAt: read.moment('created_at', true),
    updatedAt: read.momentText('updated_at'),
    totalPrice: read.money('total_price'),
    userCode: read.text('user_code'),
    userName: read.text('user_name'),
    userPhone: read.text('user_phone'),
    userEmail: read.text('user_email'),
    userGradeCode: read.text('user_grade_code'),
    storeName: read.text('store_name'),
    orderDevice: read.oneOf('order_device', ['pc', 'mobile']),
    mileage: read.integer('mileage'),
    deletedAt: read.moment('deleted_at', false),
  }));
}

export function readOrderLine(raw: RawRow): Read<OrderLine> {
  return checked(raw, (read) => ({
    orderCode: read.required('order_code'),
    lineCode: read.required('line_code'),
    ...product(read),
    price: read.money('price'),
    status: read.text('status'),
    deliveryStartedAt: read.moment('delivery_started_at', false),
    deliveredAt: read.moment('delivered_at', false),
    invoice: read.text('invoice'),
    deliveryService: read.text('delivery_service'),
    productOptions: read.options('product_options'),
  }));
}

export function readCategory(raw: RawRow): Read<Category> {
  return checked(raw, (read) => ({
    code: read.required('code'),
    name: read.required('name'),
    parentCode: read.text('parent_code'),
    status: read.oneOf('status', ['visible', 'hidden']),
  }));
}

export function readUserGrade(raw: RawRow): Read<UserGrade> {
  return checked(raw, (read) => ({
    code: read.required('code'),
    name: read.required('name'),
    iconUrl: read.text('icon_url'),
  }));
}

class Fault extends Error {}

type Reader = ReturnType<typeof reader>;

function checked<T>(raw: RawRow, read: (reader: Reader) => T): Read<T> {
  try {
    return { row: read(reader(raw)) };
  } catch (error) {
    if (error instanceof Fault) return { fault: error.message };
    throw error;
  }
}

function product(read: Reader): { productId: number | undefined; productCode: string | undefined } {
  const productId = read.integer('product_id');
  const productCode = read.text('product_code');
  if (productId === undefined && productCode === undefined) {
    throw new Fault('product_id and product_code are both empty, expected one of them');
  }
  return { productId, productCode };
}

function reader(raw: RawRow) {
  /** An empty text means the same as none: sent as a code it would name every record. */
  const text = (name: string): string | undefined => {
    const value = raw[name];
    return value === undefined || value === null || value.trim() === '' ? undefined : value;
  };
  const required = (name: string): string => {
    const value = text(name);
    if (value === undefined)
      throw new Fault(`${name} is ${raw[name] === '' ? 'an empty text' : 'null'}, expected a value`);
    return value;
  };
  const momentOf = (name: string, value: string): Date => {
    const date = new Date(value.replace(' ', 'T').replace(/\+00$/, 'Z'));
    if (Number.isNaN(date.getTime())) throw new Fault(`${name} is ${value}, expected a date of our era`);
    return date;
  };
  return {
    text,
    required,
    /** With the microseconds that a Date would cut. */
    momentText(name: string): string {
      const value = required(name);
      momentOf(name, value);
      return value;
    },
    money(name: string): string {
      const value = required(name);
      if (!/^-?\d+(\.\d+)?$/.test(value)) throw new Fault(`${name} is ${JSON.stringify(value)}, expected an amount`);
      return value;
    },
    integer(name: string): number | undefined {
      const value = text(name);
      if (value === undefined) return undefined;
      if (!Number.isSafeInteger(Number(value))) throw new Fault(`${name} is ${value}, expected a smaller whole number`);
      return Number(value);
    },
    moment<R extends boolean>(name: string, mustBe: R): R extends true ? Date : Date | undefined {
      const value = mustBe ? required(name) : text(name);
      return (value === undefined ? undefined : momentOf(name, value)) as R extends true ? Date : Date | undefined;
    },
    oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
      const value = text(name);
      const found = allowed.find((one) => one === value);
      if (value !== undefined && found === undefined) {
        throw new Fault(`${name} is ${JSON.stringify(value)}, expected ${allowed.join(' or ')}`);
      }
      return found;
    },
    options(name: string): Record<string, string> {
      const value = text(name);
      const parsed: unknown = value === undefined ? {} : (JSON.parse(value) ?? {});
      const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
      const entries = isObject ? Object.entries(parsed) : undefined;
      if (!entries?.every((entry): entry is [string, string] => typeof entry[1] === 'string')) {
        throw new Fault(`${name} is ${value?.slice(0, 80)}, expected an object of texts such as {"Size": "L"}`);
      }
      return Object.fromEntries(entries);
    },
  };
}
