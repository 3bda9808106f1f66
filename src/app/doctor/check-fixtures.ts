import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError, UsageError } from '../../base/errors.ts';
import { makeFolder } from '../../base/make-folder.ts';
import { desiredOrder } from '../../orders/order/desired-order.ts';
import { orderBody } from '../../orders/order/order-body.ts';
import { ordersByCreation } from '../../orders/which/orders-by-day.ts';
import { writeFixtureQueries } from '../../shop/fixture-queries.ts';
import { openShop } from '../../shop/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import type { ShopConfig } from '../config.ts';

/**
 * What the shop queries make of one order: the bodies that would be sent, with the shop's own codes in place of the
 * service's ids (`user_grade_code`, `product_code`). `fault`: why the order, or a line, would be a dead letter.
 */
type FixtureBodies =
  | { order: Record<string, unknown>; lines: Record<string, Record<string, unknown>> }
  | { fault: string };

export type CheckedFixture = {
  code: string;
  /** Undefined: the queries show no such order. */
  made?: FixtureBodies;
  /** Undefined: no file says what is expected. */
  expected?: unknown;
  /** One sentence each; empty: as expected. */
  differences: string[];
};

/**
 * `doctor --fixtures DIR`: runs the shop queries over the rows of `DIR/tables` and compares what they make of each
 * order with `DIR/expected`. Needs nothing but the shop database, of which it reads the types of the columns.
 *
 * @param isAccepted `--accept`: what they make is written as what is expected.
 */
export async function checkFixtures(
  config: ShopConfig,
  folder: string,
  isAccepted: boolean,
): Promise<CheckedFixture[]> {
  const { url, sqlDir } = config;
  const expectedIn = join(folder, 'expected');
  if (isAccepted) await makeFolder(expectedIn);
  const expected = await readExpected(expectedIn);
  const queries = await writeFixtureQueries({ url, sqlDir, folder: join(folder, 'tables') });
  const shop = openShop({ ...config, sqlDir: queries, connections: 1 });
  const checked: CheckedFixture[] = [];
  try {
    for await (const raws of ordersByCreation(shop, { start: undefined, end: undefined })) {
      for (const raw of raws) {
        const code = raw.order.code ?? '';
        const made = bodiesOf(raw);
        if (isAccepted && differencesOf(made, expected.get(code)).length > 0) {
          await writeFile(join(expectedIn, fixtureFile(code)), `${JSON.stringify(made, null, 2)}\n`);
          expected.set(code, made);
        }
        const differences = expected.has(code)
          ? differencesOf(made, expected.get(code))
          : ['no file says what is expected'];
        checked.push({ code, made, expected: expected.get(code), differences });
      }
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    // The queries were read from a copy.
    throw new UsageError(error.message.replaceAll(queries, sqlDir), { cause: error.cause, hint: error.hint });
  } finally {
    await shop.close();
    await rm(queries, { recursive: true, force: true });
  }
  const missing = [...expected].filter(([code]) => checked.every((one) => one.code !== code));
  const differences = ['the queries show no such order'];
  return [...checked, ...missing.map(([code, wanted]) => ({ code, expected: wanted, differences }))];
}

/** Signs that a file name cannot hold are percent-encoded. */
export const fixtureFile = (code: string) => `${encodeURIComponent(code)}.json`;

async function readExpected(folder: string): Promise<Map<string, unknown>> {
  const files = await readdir(folder).catch((cause: unknown) => {
    throw new UsageError(`The folder ${folder} cannot be read`, {
      cause,
      hint: 'DIR has two folders: tables, with the rows, and expected, with a JSON file for each order.',
    });
  });
  const expected = new Map<string, unknown>();
  for (const file of files.filter((name) => name.endsWith('.json')).sort()) {
    const text = await readFile(join(folder, file), 'utf8');
    try {
      expected.set(decodeURIComponent(file.replace(/\.json$/, '')), JSON.parse(text));
    } catch (cause) {
      throw new UsageError(`${join(folder, file)} cannot be read: ${describeError(cause)}`, { cause });
    }
  }
  return expected;
}

function bodiesOf(raw: RawOrder): FixtureBodies {
  // Every product code is known here, by a number that no product has.
  const codes = [...new Set(raw.lines.flatMap((line) => line.product_code ?? []))];
  const products = new Map(codes.map((code, index) => [code, -1 - index]));
  const desired = desiredOrder(raw, { products, grades: new Map(), deletes: 'off' });
  if (!('lines' in desired)) return { fault: desired.reason };
  const { order, lines, faulty } = desired;
  return {
    order: {
      ...orderBody(order, undefined),
      ...(order.userGradeCode !== undefined && { user_grade_code: order.userGradeCode }),
      ...(order.deletedAt && { deleted: true }),
    },
    lines: Object.fromEntries([
      ...lines.map(({ lineCode, content: { product_id: id, ...content } }) => {
        const product = id < 0 ? { product_code: codes[-1 - id] } : { product_id: id };
        return [lineCode, { ...product, ...content }];
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
  const [a, b] = [String(made), String(expected)];
  // A code with leading zeros is text.
  const areBoth = (pattern: RegExp) => pattern.test(a) && pattern.test(b);
  if (areBoth(/^-?(0|[1-9]\d*)(\.\d+)?$/)) return Number(a) === Number(b);
  if (areBoth(/^\d{4}-\d\d-\d\dT/)) return Date.parse(a) === Date.parse(b);
  return made === expected;
}
