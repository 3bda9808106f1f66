import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { UsageError } from '../base/errors.ts';
import { packagePath } from '../base/package-path.ts';
import { readCatalog } from './catalog.ts';
import { contract, type QueryName } from './contract.ts';
import type { ShopFacts } from './driver.ts';
import { explainQueries, type QueryCost } from './explain-queries.ts';
import { openDatabase, type ShopDatabaseOptions } from './open-database.ts';
import {
  findLinesFault,
  type OrderQueries,
  type OrderRange,
  type RawOrder,
  readKeylessOrders,
  readOrderPage,
  readOrderSample,
  readOrders,
} from './orders.ts';
import { contentOf, type LoadedQueries, loadShopQuery } from './queries.ts';
import { readSlowAlone } from './read-slow-orders.ts';
import { codesByCreation, databaseNow, type ReadOptions, type ShopQuery, type ShopSession } from './session.ts';
import { isShopTimeout, tooManyAtOnce } from './shop-timeout.ts';
import { bareText, namesIn } from './sql-text.ts';
import { readTables } from './tables.ts';

const queryNames = Object.keys(contract) as QueryName[];

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
  const at = { folder: resolve(options.sqlDir), timeZone: options.timeZone };
  const database = openDatabase(options);
  const { dialect } = database.words;
  const loaded: LoadedQueries = new Map();
  const load = (name: QueryName) => loadShopQuery(database, at, name, loaded);

  const required = async (name: 'orders' | 'order_lines'): Promise<ShopQuery> => {
    const query = await load(name);
    if (query) return query;
    throw new UsageError(`The shop query ${at.folder}/${name}.sql is missing`, {
      hint: `Write it as in ${packagePath('sql', 'shop')}, or point SHOP_SQL_DIR at the folder that holds it.`,
    });
  };
  const orderQueries = async (): Promise<OrderQueries> => ({
    orders: await required('orders'),
    lines: await required('order_lines'),
    feed: await load('changed_orders'),
  });

  type OfOrders<T> = (session: ShopSession, queries: OrderQueries) => Promise<T>;
  const ofOrders = async <T>(read: OfOrders<T>, how?: ReadOptions): Promise<T> => {
    const queries = await orderQueries();
    return database.read((session) => read(session, queries), how);
  };

  const walk = (range: OrderRange) =>
    ofOrders((session, queries) => readOrderPage(session, queries, range)).catch(async (error: unknown) => {
      if (!isShopTimeout(error)) throw error;
      const isOfFeed = range.axis === 'updated' && (await orderQueries()).feed !== undefined;
      const column = isOfFeed ? 'changed_at' : range.axis === 'code' ? 'code' : `${range.axis}_at`;
      throw tooManyAtOnce(`the next ${range.size} ${isOfFeed ? 'changes' : 'orders'}`, column, error);
    });

  const catalog = async (name: 'categories' | 'user_grades') => {
    const query = await load(name);
    return query && database.read((session) => readCatalog(session, query));
  };

  return {
    /** The SQL of the shop's database. */
    dialect,
    /**
     * A hash of what decides how orders are read: orders.sql and order_lines.sql without their comments, and, if they
     * select a date without zone, SHOP_TIME_ZONE.
     */
    async orderQueriesHash(): Promise<string> {
      const { orders, lines } = await orderQueries();
      const isLocal = [orders, lines].some(({ columns }) =>
        [...columns.values()].some(({ read }) => read === 'local date'),
      );
      const parts = [orders, lines].map(({ body }) => bareText(body, dialect));
      const read = JSON.stringify([...parts, isLocal && options.timeZone]);
      return createHash('sha256').update(read).digest('hex').slice(0, 16);
    },
    /** Whether there is a changed_orders.sql. */
    hasFeed: async () => (await orderQueries()).feed !== undefined,
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
    orderCodes: walk,
    /**
     * The orders of these codes with their lines, as they are now; those that are gone are left out. Up to 1000 codes.
     * An order that takes longer than 30 s alone comes back with a fault.
     *
     * @throws ReviewSyncError `shop-timeout` if single orders take that long too, see readSlowAlone.
     */
    async orders(codes: readonly string[]): Promise<RawOrder[]> {
      if (codes.length === 0) return [];
      return readSlowAlone([...new Set(codes)], (some, seconds) =>
        ofOrders((session, queries) => readOrders(session, queries, some), { seconds }),
      );
    },
    /**
     * Rows that a walk does not find, because their code or date is absent or cannot be used. Reads the whole of
     * orders.sql: for `doctor` alone.
     *
     * @throws ReviewSyncError `shop-timeout` when it takes longer than 30 s: then it is unknown whether there are any.
     */
    keylessOrders: () => ofOrders(readKeylessOrders),
    /** A sentence if no line belongs to any of the newest orders, although there are lines; else undefined. */
    linesFault: () => ofOrders(findLinesFault),
    /** Undefined if the file is absent: then that part is not synced. */
    categories: () => catalog('categories'),
    userGrades: () => catalog('user_grades'),
    /** The database's clock: an instant in ISO 8601. */
    now: () => database.read(databaseNow),
    /** `withoutSnapshot`: only those that a query names. A view hides its tables. */
    async facts(): Promise<ShopFacts> {
      const facts = await database.facts();
      const texts = await Promise.all(queryNames.map((name) => contentOf(join(at.folder, `${name}.sql`))));
      return { ...facts, withoutSnapshot: namesIn(texts.join('\n'), facts.withoutSnapshot, dialect) };
    },
    /** The newest and the oldest orders, read as a run reads them. */
    orderSample: () => ofOrders(readOrderSample),
    /**
     * Explains and times each statement of the order queries as a run sends it. The shop's tables are read, not changed.
     *
     * @returns without entries if orders.sql has no row.
     */
    async queryCosts(): Promise<QueryCost[]> {
      const queries = await orderQueries();
      const newest = await database.read((session) => codesByCreation(session, queries.orders, 'newest', 200));
      return newest.length === 0 ? [] : explainQueries(database, queries, newest);
    },
    /** False if its file is absent. @throws UsageError for a query that does not keep to the contract. */
    hasQuery: async (name: QueryName) => (await load(name)) !== undefined,
    /** Names of the tables that the user may read, with their columns. Needs no query. */
    tables: () => readTables(database),
    /** The first value that a SELECT shows, as text; undefined if it shows none. */
    async value(sql: string): Promise<string | undefined> {
      const [row] = await database.read((_session, connection) => connection.run(sql));
      return Object.values(row ?? {})[0] ?? undefined;
    },
    /** Checks all shop queries. @throws UsageError if one is missing or does not keep to the contract. */
    async checkQueries(): Promise<void> {
      await orderQueries();
      await load('categories');
      await load('user_grades');
    },
    close: database.close,
    [Symbol.asyncDispose]: database.close,
  };
}
