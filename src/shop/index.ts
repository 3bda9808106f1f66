import { resolve } from 'node:path';
import { readCatalog } from './catalog.ts';
import type { QueryName } from './contract.ts';
import type { ShopFacts } from './driver.ts';
import { explainQueries, type QueryCost } from './explain-queries.ts';
import { openDatabase, type ShopDatabase, type ShopDatabaseOptions } from './open-database.ts';
import {
  findLinesFault,
  type OrderRange,
  type RawOrder,
  readKeylessOrders,
  readOrderPage,
  readOrderSample,
  readOrders,
} from './orders.ts';
import { openQueries, type ShopQueries } from './queries.ts';
import { readPageInParts, readSlowAlone } from './read-by-key.ts';
import { codesByCreation, databaseNow } from './session.ts';
import { namesIn } from './sql-text.ts';
import { readTables } from './tables.ts';

export type Shop = ReturnType<typeof openShop>;

/**
 * Opens the shop's database, read-only: each reading is a transaction that sees one moment and may write nothing. No
 * statement runs longer than 30 s. The queries are read and checked at their first use, and again when their files
 * change.
 *
 * Its verbs throw a UsageError for a query that does not keep to the contract, and a ReviewSyncError when the database
 * does not answer. A row that the database cannot compute is not an error: it comes back with a fault.
 */
export function openShop(options: ShopDatabaseOptions & { sqlDir: string }) {
  const database = openDatabase(options);
  const queries = openQueries(database, resolve(options.sqlDir), options.timeZone);
  return {
    /** The SQL of the shop's database. */
    dialect: database.words.dialect,
    ...forRuns(database, queries, options.signal ?? new AbortController().signal),
    ...forPeople(database, queries),
    close: database.close,
    [Symbol.asyncDispose]: database.close,
  };
}

/** What runs read. */
function forRuns(database: ShopDatabase, queries: ShopQueries, signal: AbortSignal) {
  const { read } = queries;
  const catalog = async (name: 'categories' | 'user_grades') => {
    const query = await queries.find(name);
    return query && database.read((session) => readCatalog(session, query));
  };
  return {
    /** See `openQueries`. */
    orderQueriesHash: queries.hashOfOrders,
    /** Whether there is a changed_orders.sql. */
    hasFeed: async () => (await queries.ofOrders()).feed !== undefined,
    /**
     * One page of a walk over orders by creation, by code, or by their last change: from changed_orders.sql, or, if there is
     * none, by `updated_at` of orders.sql. Codes only: read the orders with `orders`. Walk on with `after: page.next` until
     * that is absent. One statement a page. By code it needs the index by which orders are read, by creation an index on
     * created_at in a large shop.
     *
     * @throws ReviewSyncError `shop-timeout` if the statement takes longer than 30 s, `shop-query` if some date cannot be
     *   computed.
     * @example
     * const page = await shop.orderCodes({ axis: 'updated', after: { at: from, code: '' }, size: 50_000 });
     * const orders = await shop.orders(page.keys.map(({ code }) => code));
     */
    orderCodes: (range: OrderRange) =>
      readPageInParts(range.size, signal, (size) =>
        read((session, ofOrders) => readOrderPage(session, ofOrders, { ...range, size })),
      ),
    /**
     * The orders of these codes with their lines, as they are now; those that are gone are left out. Up to 1000 codes.
     * An order that takes longer than 30 s alone comes back with a fault.
     *
     * @throws ReviewSyncError `shop-timeout` if single orders take that long too, see readSlowAlone.
     */
    async orders(codes: readonly string[]): Promise<RawOrder[]> {
      if (codes.length === 0) return [];
      return readSlowAlone([...new Set(codes)], (some, seconds) =>
        read((session, ofOrders) => readOrders(session, ofOrders, some), { seconds }),
      );
    },
    /** A sentence if no line belongs to any of the newest orders, although there are lines; else undefined. */
    linesFault: () => read(findLinesFault),
    /** Undefined if the file is absent: then that part is not synced. */
    categories: () => catalog('categories'),
    userGrades: () => catalog('user_grades'),
    /** The database's clock: an instant in ISO 8601. */
    now: () => database.read(databaseNow),
    /** Checks all shop queries. @throws UsageError if one is missing or does not keep to the contract. */
    async checkQueries(): Promise<void> {
      await queries.ofOrders();
      await queries.find('categories');
      await queries.find('user_grades');
    },
  };
}

/** What `doctor` and `init` look at. */
function forPeople(database: ShopDatabase, queries: ShopQueries) {
  const { read } = queries;
  return {
    /** False if its file is absent. @throws UsageError for a query that does not keep to the contract. */
    hasQuery: async (name: QueryName) => (await queries.find(name)) !== undefined,
    /** `withoutSnapshot`: only those that a query names. A view hides its tables. */
    async facts(): Promise<ShopFacts> {
      const facts = await database.facts();
      const named = namesIn(await queries.texts(), facts.withoutSnapshot, database.words.dialect);
      return { ...facts, withoutSnapshot: named };
    },
    /**
     * Rows that a walk does not find, because their code or date is absent or cannot be used. Reads the whole of orders.sql.
     *
     * @throws ReviewSyncError `shop-timeout` when it takes longer than 30 s: then it is unknown whether there are any.
     */
    keylessOrders: () => read(readKeylessOrders),
    /** The newest and the oldest orders, read as a run reads them. */
    orderSample: () => read(readOrderSample),
    /**
     * Explains and times each statement of the order queries as a run sends it. The shop's tables are read, not changed.
     *
     * @returns without entries if orders.sql has no row.
     */
    async queryCosts(): Promise<QueryCost[]> {
      const ofOrders = await queries.ofOrders();
      const newest = await database.read((session) => codesByCreation(session, ofOrders.orders, 'newest', 200));
      return newest.length === 0 ? [] : explainQueries(database, ofOrders, newest);
    },
    /** Names of the tables that the user may read, with their columns. Needs no query. */
    tables: () => readTables(database),
    /** The first value that a SELECT shows, as text; undefined if it shows none. */
    async value(sql: string): Promise<string | undefined> {
      const [row] = await database.read((_session, connection) => connection.run(sql));
      return Object.values(row ?? {})[0] ?? undefined;
    },
  };
}
