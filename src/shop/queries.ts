import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError, ReviewSyncError, UsageError } from '../base/errors.ts';
import { isTransient } from '../base/lost-connections.ts';
import { columnFaults, contract, type QueryName } from './contract.ts';
import type { ShopDatabase } from './open-database.ts';
import type { ShopQuery } from './session.ts';
import { isShopTimeout, timeoutError } from './shop-timeout.ts';
import { replaceParameter } from './sql-text.ts';

/** The files and settings of the shop that say how a query is read. `timeZone`: SHOP_TIME_ZONE. */
export type QueryFolder = { folder: string; timeZone: string | undefined };

/** What a file held when it was last checked, and the query that it made. */
export type LoadedQueries = Map<QueryName, { content: string; hasFeed: boolean; query: ShopQuery }>;

/**
 * Reads `<name>.sql` from the folder and checks its columns against the contract, unless it is as `loaded` has it.
 *
 * @returns undefined if the file is absent.
 * @throws UsageError naming file, column, the type found and what to do; or the database's message about the query.
 */
export async function loadShopQuery(
  { words, read }: Pick<ShopDatabase, 'words' | 'read'>,
  { folder, timeZone }: QueryFolder,
  name: QueryName,
  loaded: LoadedQueries = new Map(),
): Promise<ShopQuery | undefined> {
  const file = join(folder, `${name}.sql`);
  const content = await contentOf(file);
  if (content === undefined) return undefined;
  const hasFeed = name === 'orders' && (await contentOf(join(folder, 'changed_orders.sql'))) !== undefined;
  const before = loaded.get(name);
  if (before?.content === content && before.hasFeed === hasFeed) return before.query;

  const select = selectOf(content);
  if (select.trim() === '') throw new UsageError(`The shop query ${file} is empty`, { hint: 'Write one SELECT.' });
  if (name === 'changed_orders' && replaceParameter(select, 'since', '', words.dialect).count === 0) {
    throw new UsageError(`The shop query ${file} does not use its parameter :since`, {
      hint: 'Compare each table’s own date with it: where modified_at >= :since.',
    });
  }
  // A comment can be the last line of the file: the closing bracket goes on a line of its own.
  const body = `(${select}\n)`;
  const found = await read((_session, connection) => connection.describe(body)).catch((cause: unknown) => {
    if (isShopTimeout(cause)) throw timeoutError(file);
    // A database that restarts says nothing against the query.
    if (isTransient(cause) || cause instanceof ReviewSyncError) throw cause;
    const line = words.lineOf(cause, body);
    throw new UsageError(
      `The shop query ${file} cannot be run${line ? ` (line ${line})` : ''}: ${describeError(cause)}`,
      {
        hint: words.isWithheld(cause)
          ? 'Grant the user of SHOP_DATABASE_URL select on it, and usage on its schema.'
          : 'It must be one SELECT that the user of SHOP_DATABASE_URL may run as it stands.',
      },
    );
  });
  const types = found.map((column) => ({ name: column.name, type: column.typeName }));
  const faults = columnFaults(name, types, { hasFeed, dialect: words.dialect });
  if (faults.length > 0) {
    throw new UsageError(`The shop query ${file} does not keep to the contract:\n  ${faults.join('\n  ')}`);
  }
  const local = found.filter((column) => column.read === 'local date').map((column) => column.name);
  if (local.length > 0 && timeZone === undefined) {
    const are = local.length === 1 ? 'is a date' : 'are dates';
    const inQuery = `, or write it in the query: ${local[0]}: <expression> at time zone '<zone in which the shop writes it>'`;
    throw new UsageError(
      `The shop query ${file}: ${local.join(', ')} ${are} without zone, and SHOP_TIME_ZONE is not set`,
      {
        hint:
          'Set SHOP_TIME_ZONE to the zone that the shop writes its dates in, such as Asia/Seoul' +
          `${words.dialect === 'postgres' ? inQuery : ''}.`,
      },
    );
  }
  const columns = new Map(found.map(({ name: column, type, read: how }) => [column, { type, read: how }]));
  const query = { name, body, columns };
  loaded.set(name, { content, hasFeed, query });
  return query;
}

/** @returns undefined if the file is absent. */
export const contentOf = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`The shop query ${file} cannot be read`, { cause: error });
  });

/**
 * The SELECT of a file as people save them: without the byte order mark of Windows editors, with plain line ends, and
 * without semicolons at the end, if nothing but comments follows them.
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
