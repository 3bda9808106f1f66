import { desiredOrder } from '../../orders/order/desired-order.ts';
import { orderBody } from '../../orders/order/order-body.ts';
import { ordersByCreation } from '../../orders/which/orders-by-day.ts';
import type { Shop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';

/**
 * What the shop queries make of one order: the bodies that would be sent, with the shop's own codes in place of the
 * service's ids (`user_grade_code`, `product_code`). `fault`: why the order, or a line, would be a dead letter.
 */
export type FixtureBodies =
  | { order: Record<string, unknown>; lines: Record<string, Record<string, unknown>> }
  | { fault: string };

export type CheckedFixture = {
  code: string;
  /** Undefined: the queries show no such order. */
  made: FixtureBodies | undefined;
  /** Undefined: no file says what is expected. */
  expected: unknown;
  /** One sentence each; empty: as expected. */
  differences: string[];
};

/** Compares what the shop queries make of every order with what is expected, by order code. */
export async function checkFixtures(
  shop: Pick<Shop, 'orderCodes' | 'orders'>,
  expected: ReadonlyMap<string, unknown>,
): Promise<CheckedFixture[]> {
  const checked: CheckedFixture[] = [];
  for await (const raws of ordersByCreation(shop, { start: undefined, end: undefined })) {
    for (const raw of raws) {
      const code = raw.order.code ?? '';
      const made = bodiesOf(raw);
      const wanted = expected.get(code);
      const differences = wanted === undefined ? ['no file says what is expected'] : differencesOf(made, wanted);
      checked.push({ code, made, expected: wanted, differences });
    }
  }
  const shown = new Set(checked.map(({ code }) => code));
  const missing = [...expected].filter(([code]) => !shown.has(code));
  return [
    ...checked,
    ...missing.map(([code, wanted]): CheckedFixture => {
      return { code, made: undefined, expected: wanted, differences: ['the queries show no such order'] };
    }),
  ];
}

function bodiesOf(raw: RawOrder): FixtureBodies {
  // Every product code is known here, by a number that no product has.
  const codes = [...new Set(raw.lines.flatMap((line) => line.product_code ?? []))];
  const ids = new Map(codes.map((code, index) => [code, -1 - index]));
  const desired = desiredOrder(raw, { products: ids, grades: new Map(), deletes: 'off' });
  if (!('lines' in desired)) return { fault: desired.reason };
  const { order, lines, faulty } = desired;
  const codeOf = new Map([...ids].map(([code, id]) => [id, code]));
  return {
    order: {
      ...orderBody(order, undefined),
      ...(order.userGradeCode !== undefined && { user_grade_code: order.userGradeCode }),
      ...(order.deletedAt && { deleted: true }),
    },
    lines: Object.fromEntries([
      ...lines.map(({ lineCode, content: { product_id: id, ...content } }) => {
        const productCode = codeOf.get(id);
        return [
          lineCode,
          { ...(productCode === undefined ? { product_id: id } : { product_code: productCode }), ...content },
        ];
      }),
      ...faulty.map(({ lineCode, reason }) => [lineCode, { fault: reason }]),
    ]),
  };
}

/** What differs between two values, a sentence for each field: `lines.1.price is "10", expected "12"`. */
export function differencesOf(made: unknown, expected: unknown, at = ''): string[] {
  if (isObject(made) && isObject(expected)) {
    const names = [...new Set([...Object.keys(made), ...Object.keys(expected)])];
    return names.flatMap((name) => differencesOf(made[name], expected[name], at === '' ? name : `${at}.${name}`));
  }
  if (isSameValue(made, expected)) return [];
  const shown = (value: unknown) => (value === undefined ? 'not there' : JSON.stringify(value));
  return [`${at} is ${shown(made)}, expected ${expected === undefined ? 'not to be there' : shown(expected)}`];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `"12.50"` and 12.5 are the same amount, and dates with different offsets may be the same instant. */
function isSameValue(made: unknown, expected: unknown): boolean {
  if (made === expected) return true;
  if (made === undefined || expected === undefined || made === null || expected === null) return false;
  const [a, b] = [String(made), String(expected)];
  if (isDecimal(a) && isDecimal(b)) return Number(a) === Number(b);
  const isDate = (text: string) => /^\d{4}-\d\d-\d\dT/.test(text);
  return isDate(a) && isDate(b) && Date.parse(a) === Date.parse(b);
}

/** A code with leading zeros is text. */
const isDecimal = (text: string) => /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text);
