import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readShopConfig } from '../../app/config.ts';
import { type CheckedFixture, checkFixtures } from '../../app/doctor/check-fixtures.ts';
import { describeError, UsageError } from '../../base/errors.ts';
import { writeFixtureQueries } from '../../shop/fixture-queries.ts';
import { openShop } from '../../shop/index.ts';
import type { Context, Report } from '../command.ts';

/**
 * `doctor --fixtures DIR`: runs the shop queries over the rows of a folder and compares what they make with what is
 * expected. Needs nothing but the shop database, of which it reads the types of the columns.
 *
 * @param isAccepted `--accept`: what they make is written as what is expected.
 */
export async function checkFixtureFolder(
  { environment }: Context,
  folder: string,
  isAccepted: boolean,
): Promise<Report> {
  const config = readShopConfig(environment);
  const expectedIn = join(folder, 'expected');
  if (isAccepted) await mkdir(expectedIn, { recursive: true });
  const expected = await readExpected(expectedIn);
  const queries = await writeFixtureQueries({ url: config.url, sqlDir: config.sqlDir, folder: join(folder, 'tables') });
  const shop = openShop({ ...config, sqlDir: queries, connections: 1 });
  try {
    const checked = await checkFixtures(shop, expected).catch((error: unknown) => {
      if (!(error instanceof UsageError)) throw error;
      // The queries were read from a copy.
      const message = error.message.replaceAll(queries, config.sqlDir);
      throw new UsageError(message, { cause: error.cause, ...(error.hint !== undefined && { hint: error.hint }) });
    });
    const orders = isAccepted ? await accept(expectedIn, checked) : checked;
    const failing = orders.filter((order) => order.differences.length > 0).length;
    const isEmpty = orders.length === 0;
    return {
      text: draw(orders, failing),
      json: { healthy: failing === 0 && !isEmpty, orders },
      incomplete: failing > 0 || isEmpty,
    };
  } finally {
    await shop.close();
    await rm(queries, { recursive: true, force: true });
  }
}

/** Writes a file for each order that is not as expected. An expected order that the queries do not show stays wrong. */
function accept(folder: string, checked: readonly CheckedFixture[]): Promise<CheckedFixture[]> {
  return Promise.all(
    checked.map(async (one) => {
      if (one.made === undefined || one.differences.length === 0) return one;
      await writeFile(join(folder, fileOf(one.code)), `${JSON.stringify(one.made, null, 2)}\n`);
      return { ...one, expected: one.made, differences: [] };
    }),
  );
}

const fileOf = (code: string) => `${encodeURIComponent(code)}.json`;

/** The files `<order code>.json`; signs that a file name cannot hold are percent-encoded. */
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

function draw(orders: readonly CheckedFixture[], failing: number): string {
  if (orders.length === 0) return 'The queries show no order: the rows of DIR/tables make none.';
  const lines = orders.map(({ code, expected, made, differences }) => {
    if (differences.length === 0) return `  ok       order ${code}`;
    const more =
      expected === undefined ? `\n           expected/${fileOf(code)} would be:\n${JSON.stringify(made, null, 2)}` : '';
    return `  FAULT    order ${code}\n           ${differences.join('\n           ')}${more}`;
  });
  const end =
    failing === 0 ? 'All orders are as expected.' : `${failing} of ${orders.length} orders are not as expected.`;
  return ['fixtures', ...lines, '', end].join('\n');
}
