import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { describeError, ReviewSyncError, UsageError } from '../errors.ts';
import { readSample, readShopFacts, type ShopFacts } from './checkup.ts';
import type { QueryName } from './contract.ts';
import {
  type OrderSlice,
  planOrderSlices,
  type RawOrder,
  readKeylessOrders,
  readOrderSlice,
  readOrders,
} from './orders.ts';
import type { RawRow } from './rows.ts';
import { loadShopQuery } from './shop-query.ts';

export type ShopOptions = { url: string; sqlDir: string; connections: number };

export type Shop = {
  planOrderSlices(range: Parameters<typeof planOrderSlices>[2]): ReturnType<typeof planOrderSlices>;
  orderSlice(slice: OrderSlice): Promise<RawOrder[]>;
  orders(codes: readonly string[]): Promise<RawOrder[]>;
  keylessOrders(): Promise<RawRow[]>;
  /** Undefined where the file is absent: then that part is not synced. */
  categories(): Promise<RawRow[] | undefined>;
  userGrades(): Promise<RawRow[] | undefined>;
  /** The database's clock, as its text in UTC. */
  now(): Promise<string>;
  facts(): Promise<ShopFacts>;
  /** Rows of a query, the newest of the orders; undefined where its file is absent. */
  sample(name: QueryName, limit: number): Promise<RawRow[] | undefined>;
  close(): Promise<void>;
};

/**
 * Opens the shop's database, read-only: each reading is a transaction that sees one moment and may write nothing. The
 * queries are read and checked at their first use, and again when their files change.
 *
 * Its verbs throw a UsageError for a query that does not keep to the contract, and a ReviewSyncError when the database
 * does not answer.
 */
export function openShop(options: ShopOptions): Shop {
  const folder = resolve(options.sqlDir);
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections,
    application_name: 'review-sync',
    connectionTimeoutMillis: 15_000,
    types: { getTypeParser: () => (text: string) => text },
  });
  pool.on('error', () => {});

  async function reading<T>(read: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((cause) => {
      throw new ReviewSyncError('shop', `The shop database cannot be reached: ${describeError(cause)}`, {
        cause,
        hint: 'See whether it is up and whether SHOP_DATABASE_URL is right.',
      });
    });
    try {
      await client.query("begin isolation level repeatable read read only; set local timezone to 'UTC'");
      const result = await read(client);
      await client.query('commit');
      return result;
    } catch (error) {
      // The connection goes with the failed transaction; the next reading takes a fresh one.
      await client.query('rollback').catch(() => {});
      throw error;
    } finally {
      client.release();
    }
  }

  const required = async (client: pg.ClientBase, name: 'orders' | 'order_lines'): Promise<string> => {
    const query = await loadShopQuery(client, folder, name);
    if (query) return query.sql;
    throw new UsageError(`The shop query ${folder}/${name}.sql is missing`, {
      hint: 'Write it as in sql/shop, or point SHOP_SQL_DIR at the folder that holds it.',
    });
  };
  const once = memoized(
    () =>
      reading(async (client) => ({
        orders: await required(client, 'orders'),
        lines: await required(client, 'order_lines'),
      })),
    () => versionOf(folder, ['orders', 'order_lines']),
  );
  const all = (name: 'categories' | 'user_grades') =>
    reading(async (client) => {
      const query = await loadShopQuery(client, folder, name);
      return query && (await client.query<RawRow>(query.sql)).rows;
    });

  return {
    planOrderSlices: async (range) => {
      const queries = await once();
      return reading((client) => planOrderSlices(client, queries, range));
    },
    orderSlice: async (slice) => {
      const queries = await once();
      return reading((client) => readOrderSlice(client, queries, slice));
    },
    orders: async (codes) => {
      const queries = await once();
      return codes.length === 0 ? [] : reading((client) => readOrders(client, queries, codes));
    },
    keylessOrders: async () => {
      const queries = await once();
      return reading((client) => readKeylessOrders(client, queries));
    },
    categories: () => all('categories'),
    userGrades: () => all('user_grades'),
    now: () => reading(async (client) => (await client.query<{ now: string }>('select now()')).rows[0]?.now ?? ''),
    facts: () => reading(readShopFacts),
    sample: (name, limit) =>
      reading(async (client) => {
        await client.query("set local statement_timeout to '30s'; set local lock_timeout to '5s'");
        const query = await loadShopQuery(client, folder, name);
        return query && readSample(client, { name, sql: query.sql }, limit);
      }),
    close: () => pool.end(),
  };
}

/** Makes it again where the version has changed since; a failed attempt is not kept. */
function memoized<T>(make: () => Promise<T>, version: () => Promise<string>): () => Promise<T> {
  let made: { version: string; value: Promise<T> } | undefined;
  return async () => {
    const current = await version();
    if (made?.version !== current) {
      const fresh = { version: current, value: make() };
      made = fresh;
      fresh.value.catch(() => {
        if (made === fresh) made = undefined;
      });
    }
    return made.value;
  };
}

/** Changes when one of the files does. */
async function versionOf(folder: string, names: readonly string[]): Promise<string> {
  const times = names.map((name) =>
    stat(join(folder, `${name}.sql`)).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    ),
  );
  return (await Promise.all(times)).join();
}
