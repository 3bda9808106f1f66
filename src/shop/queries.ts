import { createHash } from 'node:crypto';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError, UsageError } from '../base/errors.ts';
import { isTransient } from '../base/lost-connections.ts';
import { columnFaults, contract, type QueryName } from './contract.ts';
import type { ColumnType, ShopQuery } from './session.ts';
import { timeoutError } from './shop-timeout.ts';
import { meaningOf, replaceParameter, type SqlDialect } from './sql-text.ts';

/** A column as the database describes it: name of the type, and how to read it. */
export type FoundColumn = Readonly<{ name: string; typeName: string }> & ColumnType;

/** What loading a query needs of the database. */
export type QueryCheck = {
  /** @param hasParameter whether the body holds the parameter of a date. */
  describe(body: string, hasParameter: boolean): Promise<FoundColumn[]>;
  /** Characters into `body` at which the database found the mistake; undefined where it does not say. */
  positionOf(error: unknown): number | undefined;
  isWithheld(error: unknown): boolean;
  isTimeout(error: unknown): boolean;
  dialect: SqlDialect;
  /** How a parameter of a date is written: of a date with zone, or of one without. */
  dateParameter(read: 'instant' | 'local date'): string;
};

/**
 * Reads `<name>.sql` from the folder and checks its columns against the contract. Changes nothing.
 *
 * @param timeZone SHOP_TIME_ZONE; needed as soon as a column is a date without zone.
 * @returns undefined where the file is absent.
 * @throws UsageError naming file, column, the type found and what to do; or the database's message about the query.
 */
export async function loadShopQuery(
  check: QueryCheck,
  { folder, timeZone }: { folder: string; timeZone: string | undefined },
  name: QueryName,
): Promise<ShopQuery | undefined> {
  const file = join(folder, `${name}.sql`);
  const content = await contentOf(file);
  if (content === undefined) return undefined;
  const select = selectOf(content);
  if (select.trim() === '') throw new UsageError(`The shop query ${file} is empty`, { hint: 'Write one SELECT.' });
  const isFeed = name === 'changed_orders';
  const withParameter = (read: 'instant' | 'local date') => {
    const { text, count } = replaceParameter(select, 'since', check.dateParameter(read), check.dialect);
    if (count === 0) {
      throw new UsageError(`The shop query ${file} does not use its parameter :since`, {
        hint: 'Compare each table’s own date with it: where modified_at >= :since.',
      });
    }
    return text;
  };
  const describe = async (text: string) => {
    // A comment can be the last line of the file: the closing bracket goes on a line of its own.
    const body = `(${text}\n)`;
    const found = await check.describe(body, isFeed).catch((cause) => {
      if (check.isTimeout(cause)) throw timeoutError(file);
      // A database that restarts says nothing against the query.
      if (isTransient(cause)) throw cause;
      const at = check.positionOf(cause);
      const line = at === undefined || at < 1 ? '' : ` (line ${body.slice(0, at).split('\n').length})`;
      throw new UsageError(`The shop query ${file} cannot be run${line}: ${describeError(cause)}`, {
        hint: check.isWithheld(cause)
          ? 'Grant the user of SHOP_DATABASE_URL select on it, and usage on its schema.'
          : 'It must be one SELECT that the user of SHOP_DATABASE_URL may run as it stands.',
      });
    });
    return { body, found };
  };
  let { body, found } = await describe(isFeed ? withParameter('instant') : select);
  if (isFeed && found.find((column) => column.name === 'changed_at')?.read === 'local date') {
    ({ body, found } = await describe(withParameter('local date')));
  }
  const faults = columnFaults(
    name,
    found.map((column) => ({ name: column.name, type: column.typeName })),
    {
      hasFeed: name === 'orders' && (await isThere(join(folder, 'changed_orders.sql'))),
      dialect: check.dialect,
    },
  );
  if (faults.length > 0) {
    throw new UsageError(`The shop query ${file} does not keep to the contract:\n  ${faults.join('\n  ')}`);
  }
  const local = found.filter((column) => column.read === 'local date').map((column) => column.name);
  if (local.length > 0 && timeZone === undefined) {
    throw new UsageError(
      `The shop query ${file}: ${local.join(', ')} ${local.length === 1 ? 'is a date' : 'are dates'} without ` +
        'zone, and SHOP_TIME_ZONE is not set',
      {
        hint: `Set SHOP_TIME_ZONE to the zone that the shop writes its dates in, such as Asia/Seoul${
          check.dialect === 'postgres'
            ? `, or write it in the query: ${local[0]}: ` +
              "<expression> at time zone '<zone in which the shop writes it>'"
            : ''
        }.`,
      },
    );
  }
  const columns = new Map(found.map(({ name: column, type, read }) => [column, { type, read }]));
  return { name, body, columns };
}

/** @returns undefined where the file is absent. */
const contentOf = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`The shop query ${file} cannot be read`, { cause: error });
  });

/**
 * SHA-256 of what a query file says, without comments and spacing: it changes when the query means something else. Asks
 * no database.
 *
 * @returns undefined where the file is absent.
 */
export async function hashOfQuery(folder: string, name: QueryName, dialect: SqlDialect): Promise<string | undefined> {
  const content = await contentOf(join(folder, `${name}.sql`));
  if (content === undefined) return undefined;
  return hashOf(meaningOf(selectOf(content), dialect));
}

/** SHA-256 in hexadecimal digits. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

/**
 * The SELECT of a file as people save them: without the byte order mark of Windows editors, with plain line ends, and
 * without semicolons at the end, where nothing but comments follows them.
 */
export function selectOf(content: string): string {
  let text = content.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  while (endingSemicolon.test(text)) text = text.replace(endingSemicolon, '$1');
  return text;
}

const endingSemicolon = /;((?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*)$/;

/** The contract's columns that this query selects. */
export const columnsOf = (query: ShopQuery): string[] =>
  contract[query.name].map((column) => column.name).filter((name) => query.columns.has(name));
