import { onTestFinished } from 'vitest';
import { openShop } from '../../src/shop/index.ts';
import { createDatabase, forgetDatabase, queryAgain } from './database.ts';
import { temporaryFolder } from './folder.ts';
import { writeQueries } from './order-world.ts';
import { createMysqlDatabase, mysqlKinds } from './servers.ts';
import type { World } from './world.ts';

/** A kind of shop database, with the words in which the databases differ. */
export type ShopServer = {
  name: string;
  /** Date with zone and without, JSON, an amount, a text that is compared without case, and one that is not. */
  types: Readonly<Record<'instant' | 'local' | 'json' | 'amount' | 'caseless' | 'exact', string>>;
  create(): Promise<ShopTables>;
};

export type ShopTables = { url: string; run(statement: string): Promise<unknown> };

const postgres: ShopServer = {
  name: 'Postgres',
  types: {
    instant: 'timestamptz',
    local: 'timestamp',
    json: 'jsonb',
    amount: 'numeric(12,2)',
    caseless: 'citext',
    exact: 'varchar(20)',
  },
  async create() {
    const url = await createDatabase('empty');
    onTestFinished(() => forgetDatabase(url));
    await queryAgain(url, 'create extension citext');
    return { url, run: (statement) => queryAgain(url, statement) };
  },
};

/** All shop servers of this machine. */
export const shopServers: readonly ShopServer[] = [
  postgres,
  ...mysqlKinds.map(
    (kind): ShopServer => ({
      name: kind,
      types: {
        instant: 'timestamp(6) null',
        local: 'datetime(6)',
        json: 'json',
        amount: 'decimal(12,2)',
        caseless: 'varchar(20) character set utf8mb4 collate utf8mb4_unicode_ci',
        exact: 'varchar(20) character set utf8mb4 collate utf8mb4_bin',
      },
      async create() {
        const database = await createMysqlDatabase(kind);
        return { url: database.url, run: (statement) => database.query(statement) };
      },
    }),
  ),
];

type Queries = Readonly<Record<string, string>>;

/** Opens a shop with these queries; it is closed when the test ends. */
export async function openTables(
  { url }: Pick<ShopTables, 'url'>,
  queries: Queries,
  timeZone?: string,
  signal?: AbortSignal,
) {
  const sqlDir = await temporaryFolder();
  await writeQueries(sqlDir, queries);
  const shop = openShop({ url, sqlDir, connections: 2, timeZone, signal });
  onTestFinished(() => shop.close());
  return shop;
}

/** What doctor says of the shop, with the next step. */
export async function shopFindings(world: Pick<World, 'json'>): Promise<string[]> {
  const all: { area: string; level: string; what: string; hint?: string }[] = (await world.json('doctor')).findings;
  return all.filter(({ area }) => area === 'shop').map(({ level, what, hint }) => `${level}: ${what} → ${hint}`);
}

/** Queries of the tables of `createOddShop`. */
export const oddQueries = {
  orders: 'select code, created_at, updated_at, total_price from o',
  order_lines: 'select order_code, line_code, product_id, price, delivered_at from l',
};

export async function createOddShop({ create, types }: ShopServer, code: string) {
  const database = await create();
  await database.run(`create table o (code ${code}, created_at ${types.local}, updated_at ${types.local},
    total_price ${types.amount}, internal_id bigint)`);
  await database.run(`create table l (order_code ${code}, line_code varchar(20), product_id bigint,
    price ${types.amount}, delivered_at ${types.local})`);
  return database;
}

export const dateOfAll = "'2026-03-01 10:00:00'";
/** @param codes SQL literals. */
export const addOrders = (database: ShopTables, codes: readonly string[]) =>
  database.run(
    `insert into o values ${codes.map((code) => `(${code}, ${dateOfAll}, ${dateOfAll}, 1, null)`).join(', ')}`,
  );
/** @param codes SQL literals, the `order_code` of a line each. */
export const addLines = (database: ShopTables, codes: readonly string[]) =>
  database.run(`insert into l values ${codes.map((code) => `(${code}, '1', 7, 1, null)`).join(', ')}`);
