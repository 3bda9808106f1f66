import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError, ReviewSyncError, UsageError } from '../base/errors.ts';
import { isTransient } from '../base/lost-connections.ts';
import { packagePath } from '../base/package-path.ts';
import { columnFaults } from './column-faults.ts';
import type { FoundColumn } from './driver.ts';
import type { ShopDatabase } from './open-database.ts';
import { contract, type QueryName } from './rows.ts';
import type { OrderQueries, ReadOptions, ShopQuery, ShopSession } from './session.ts';
import { withSince } from './sql-text.ts';

/** A file of the folder as it is now. `hasFeed`: changed_orders.sql exists. `timeZone`: SHOP_TIME_ZONE. */
type QueryFile = { name: QueryName; file: string; text: string; hasFeed: boolean; timeZone: string | undefined };

/**
 * The shop queries of a folder. They are read and checked at their first use, and again when their files change.
 *
 * @throws UsageError, also from its functions, with file, column, the type found and what to do, or with the database's
 *   message about the query.
 */
export function openQueries(database: ShopDatabase, folder: string, timeZone: string | undefined) {
  const checked = new Map<QueryName, { text: string; hasFeed: boolean; query: ShopQuery }>();
  const fileOf = (name: QueryName) => join(folder, `${name}.sql`);
  const textOf = (name: QueryName) => contentOf(fileOf(name));

  async function find(name: QueryName): Promise<ShopQuery | undefined> {
    const text = await textOf(name);
    if (text === undefined) return undefined;
    const hasFeed = name === 'orders' && (await textOf('changed_orders')) !== undefined;
    const before = checked.get(name);
    if (before?.text === text && before.hasFeed === hasFeed) return before.query;
    const query = await checkedQuery(database, { name, file: fileOf(name), text, hasFeed, timeZone });
    checked.set(name, { text, hasFeed, query });
    return query;
  }

  async function required(name: 'orders' | 'order_lines'): Promise<ShopQuery> {
    const query = await find(name);
    if (query) return query;
    throw new UsageError(`The shop query ${fileOf(name)} is missing`, {
      hint: `Write it as in ${packagePath('sql', 'shop')}, or point SHOP_SQL_DIR at the folder that holds it.`,
    });
  }

  const ofOrders = async (): Promise<OrderQueries> => ({
    orders: await required('orders'),
    lines: await required('order_lines'),
    feed: await find('changed_orders'),
  });

  return {
    /** Finds a query; undefined if its file is absent. */
    find,
    ofOrders,
    /** Reads with the order queries, which are checked in their own transaction. */
    async read<T>(work: (session: ShopSession, queries: OrderQueries) => Promise<T>, how?: ReadOptions): Promise<T> {
      const queries = await ofOrders();
      return database.read((session) => work(session, queries), how);
    },
    /** The text of all files. */
    texts: async () => (await Promise.all((Object.keys(contract) as QueryName[]).map(textOf))).join('\n'),
    /**
     * A hash of everything that decides how orders are read: orders.sql and order_lines.sql without comment lines, and
     * SHOP_TIME_ZONE if they select a date without zone.
     */
    async hashOfOrders(): Promise<string> {
      const { orders, lines } = await ofOrders();
      const columns = [orders, lines].flatMap((query) => [...query.columns.values()]);
      const zone = columns.some(({ read }) => read === 'local date') && timeZone;
      const parts = [orders, lines].map(({ body }) => body.slice(1).replaceAll(/^\s*--.*\n/gm, ''));
      return hash('sha256', JSON.stringify([...parts, zone]), 'hex').slice(0, 16);
    },
  };
}

async function checkedQuery(database: ShopDatabase, written: QueryFile): Promise<ShopQuery> {
  const { name, file, text, hasFeed } = written;
  const { dialect } = database.words;
  const select = selectOf(text);
  if (select.trim() === '') throw new UsageError(`The shop query ${file} is empty`, { hint: 'Write one SELECT.' });
  if (name === 'changed_orders' && withSince(select, '', dialect) === select) {
    throw new UsageError(`The shop query ${file} does not use its parameter :since`, {
      hint: 'Compare each table’s own date with it: where modified_at >= :since.',
    });
  }
  // A comment can be the last line of the file: the closing bracket goes on a line of its own.
  const body = `(${select}\n)`;
  const found = await describe(database, file, body);
  const faults = columnFaults(name, found, { hasFeed, dialect });
  if (faults.length > 0) {
    throw new UsageError(`The shop query ${file} does not keep to the contract:\n  ${faults.join('\n  ')}`);
  }
  requireZone(found, written);
  return { name, body, columns: new Map(found.map(({ name: column, type, read }) => [column, { type, read }])) };
}

async function describe({ words, read }: ShopDatabase, file: string, body: string): Promise<FoundColumn[]> {
  try {
    return await read(({ connection }) => connection.describe(body));
  } catch (cause) {
    // An error of a restarting database says nothing about the query.
    if (isTransient(cause) || cause instanceof ReviewSyncError) throw cause;
    const line = words.lineOf(cause, body);
    const where = line ? ` (line ${line})` : '';
    throw new UsageError(`The shop query ${file} cannot be run${where}: ${describeError(cause)}`, {
      hint:
        'It must be one SELECT that the user of SHOP_DATABASE_URL may run as it stands, with select on its tables and usage ' +
        'on their schemas.',
    });
  }
}

function requireZone(found: readonly FoundColumn[], { file, timeZone }: QueryFile): void {
  const local = found.filter(({ read }) => read === 'local date').map(({ name }) => name);
  if (local.length === 0 || timeZone !== undefined) return;
  const dates = local.join(', ');
  throw new UsageError(`The shop query ${file} has dates without zone (${dates}), and SHOP_TIME_ZONE is not set`, {
    hint: 'Set SHOP_TIME_ZONE to the zone that the shop writes its dates in, such as Asia/Seoul.',
  });
}

/** @returns undefined if the file is absent. */
const contentOf = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`The shop query ${file} cannot be read`, { cause: error });
  });

/**
 * The SELECT of a file as people save them: without the byte order mark of Windows editors, with plain line ends, and
 * without semicolons at the end, if only comments follow them.
 */
export function selectOf(content: string): string {
  let text = content.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  while (endingSemicolon.test(text)) text = text.replace(endingSemicolon, '$1');
  return text;
}

const endingSemicolon = /;((?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*)$/;
