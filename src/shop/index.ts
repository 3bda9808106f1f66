import { resolve } from 'node:path';
import { readCatalog } from './catalog.ts';
import type { ShopFacts } from './driver.ts';
import { explainQueries, type QueryCost } from './explain-queries.ts';
import { openDatabase, type ShopDatabaseOptions } from './open-database.ts';
import {
  findLinesFault,
  keylessAtMost,
  type OrderRange,
  type RawOrder,
  readOrderPage,
  readOrders,
  sampleSize,
} from './orders.ts';
import { openQueries } from './queries.ts';
import { readApart, readPageInParts } from './read-apart.ts';
import type { QueryName } from './rows.ts';
import { databaseNow, keylessRows, rowsOf, sampleCodes } from './session.ts';
import { isUncomputable } from './shop-errors.ts';
import { namesIn } from './sql-text.ts';
import { readTables } from './tables.ts';

export type Shop = ReturnType<typeof openShop>;

/**
 * Opens the shop's database, read-only: each reading is a transaction with one snapshot that may write nothing. No
 * statement runs longer than 30 s. The queries are read and checked at their first use, and again when their files
 * change.
 *
 * Its functions throw a UsageError if a query breaks the contract, and a ReviewSyncError if the database does not
 * respond (`shop`), a statement takes longer than 30 s (`shop-timeout`), a standby cancels a statement
 * (`shop-conflict`), or the database cannot compute a row (`shop-query`).
 */
export function openShop(options: ShopDatabaseOptions & { sqlDir: string }) {
  const database = openDatabase(options);
  const queries = openQueries(database, resolve(options.sqlDir), options.timeZone);
  const signal = options.signal ?? new AbortController().signal;
  const { read } = queries;

  const orders = (codes: readonly string[]): Promise<RawOrder[]> =>
    readApart(
      codes,
      (some, seconds) => read((session, ofOrders) => readOrders(session, ofOrders, some), { seconds }),
      (code, fault) => ({ order: { code }, lines: [], fault }),
    );

  const ofSample = (which: 'newest' | 'oldest') =>
    read((session, ofOrders) => sampleCodes(session, ofOrders.orders, which, sampleSize));

  return {
    /** The SQL of the shop's database. */
    dialect: database.words.dialect,
    /** See `openQueries`. */
    orderQueriesHash: queries.hashOfOrders,
    /** Whether there is a changed_orders.sql. */
    hasFeed: async () => (await queries.ofOrders()).feed !== undefined,
    /** False if its file is absent. */
    hasQuery: async (name: QueryName) => (await queries.find(name)) !== undefined,
    /** Checks all shop queries. @throws UsageError if one is missing or does not keep to the contract. */
    async checkQueries(): Promise<void> {
      await queries.ofOrders();
      await queries.find('categories');
      await queries.find('user_grades');
    },
    /** The database's clock: an instant in ISO 8601. */
    now: () => database.read(databaseNow),
    /**
     * One page of a walk over orders by creation, by code, or by last change: from changed_orders.sql, or, if it is
     * absent, by `updated_at` of orders.sql. Returns codes only: read the orders with `orders`. Continue with `after:
     * page.next` until that is absent. One statement a page. By code, it needs the index for reading orders; by
     * creation, a large shop needs an index on created_at.
     *
     * @example
     * const page = await shop.orderCodes({ axis: 'updated', after: { at: from, code: '' }, size: 50_000 });
     * const orders = await shop.orders(page.keys.map(({ code }) => code));
     */
    orderCodes: (range: OrderRange) =>
      readPageInParts(range.size, signal, (size) =>
        read((session, ofOrders) => readOrderPage(session, ofOrders, { ...range, size })),
      ),
    /**
     * The orders of these codes with their lines, as they are now, without orders that are gone. If an order cannot be
     * read, it has a fault (`readApart`).
     */
    orders,
    /**
     * A sentence if no line belongs to any of the newest orders, although there are lines; else undefined. If a row
     * cannot be computed, that is another fault, reported under its own key.
     */
    linesFault: () => read(findLinesFault).catch(unlessUncomputable),
    /** Undefined if the file is absent: that part is not synced. */
    async catalog(name: 'categories' | 'user_grades') {
      const query = await queries.find(name);
      return query && readCatalog(database, query);
    },

    /** `withoutSnapshot`: only tables that a query names. A view hides its tables. */
    async facts(): Promise<ShopFacts> {
      const facts = await database.read(({ connection }) => connection.facts());
      const named = namesIn(await queries.texts(), facts.withoutSnapshot, database.words.dialect);
      return { ...facts, withoutSnapshot: named };
    },
    /**
     * Rows that a walk does not find: the code is null, blank, longer than `longestCode` or has a NUL, or the date is
     * null or outside the years 1 to 9999. Reads all of orders.sql.
     */
    keylessOrders: () =>
      read((session, { orders, feed }) =>
        keylessRows(session, orders, feed ? ['created_at'] : ['created_at', 'updated_at'], keylessAtMost),
      ),
    /** The newest and the oldest orders, read as a run reads them. */
    async orderSample(): Promise<{ orders: RawOrder[]; linesWithoutOrderCode: number }> {
      const codes = [...(await ofSample('newest')), ...(await ofSample('oldest'))];
      const orphans = read((session, { lines }) =>
        rowsOf(session, lines, `where w.order_code is null limit ${sampleSize}`),
      );
      return {
        linesWithoutOrderCode: (await orphans.catch(unlessUncomputable))?.length ?? 0,
        orders: await orders(codes),
      };
    },
    /**
     * Explains and times each statement of the order queries as a run sends it. Changes nothing in the shop.
     *
     * @returns an empty list if orders.sql has no row.
     */
    async queryCosts(): Promise<QueryCost[]> {
      const newest = await ofSample('newest');
      return newest.length === 0 ? [] : explainQueries(database, await queries.ofOrders(), newest);
    },
    /** Names of the tables that the user may read, with their columns. Needs no query. */
    tables: () => readTables(database),
    /** The first value that a SELECT shows, as text; undefined if it shows none. */
    async value(sql: string): Promise<string | undefined> {
      const [row] = await database.read(({ connection }) => connection.run(sql));
      return Object.values(row ?? {})[0] ?? undefined;
    },

    close: database.close,
    [Symbol.asyncDispose]: database.close,
  };
}

function unlessUncomputable(error: unknown): undefined {
  if (!isUncomputable(error)) throw error;
  return undefined;
}
