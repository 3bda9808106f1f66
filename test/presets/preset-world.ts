import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { App } from '../../src/app/app.ts';
import { orderDeps } from '../../src/app/deps.ts';
import { syncCategories } from '../../src/orders/catalog/sync-categories.ts';
import { syncUserGrades } from '../../src/orders/catalog/sync-user-grades.ts';
import { verifyOrders } from '../../src/orders/compare/verify-orders.ts';
import { createMysqlDatabase } from '../harness/mariadb.ts';
import { catalogAtService, knowProducts, ordersAtService } from '../harness/service-view.ts';
import { openTables } from '../harness/shop-servers.ts';
import { rescanOrdersOnce, rightsOf, syncOrdersOnce } from '../harness/sync-orders.ts';
import { openWorld, type World } from '../harness/world.ts';

/** A database that has the tables of a shop system. */
export type ShopDatabase = { url: string; run(sql: string): Promise<unknown>; drop?(): Promise<void> };

export type PresetOptions = {
  /** SHOP_TIME_ZONE, where the system writes dates without zone. */
  timeZone?: string;
  /** Product codes, as the preset selects them, which the service knows already. */
  products: readonly string[];
  /** Default: an empty Postgres database. */
  database?: ShopDatabase;
  /** Default: those of the preset. */
  sqlDir?: string;
};

/** Columns of the service that are empty are left out. Dates are hours since the first step: `+3h`. */
export type ServiceOrder = { total: number; lines: ServiceLine[] } & Record<string, unknown>;
export type ServiceLine = { product: string; price: number } & Record<string, unknown>;

/** Lines that have these fields in common. */
export const each = (more: object, ...lines: object[]) => lines.map((line) => ({ ...line, ...more }));

export type PresetWorld = {
  world: World;
  /** Statements in the shop, before anything is synced. */
  given(sql: string): Promise<void>;
  /**
   * One hour of the shop's life: the statements are run, then one sync (or, where the feed shows nothing, one rescan).
   *
   *     await shop.step({ feed: ['1001'] }, `update orders set state = 'paid', updated_at = :now where id = 1`);
   *
   * `:now` is the hour's date without zone in `timeZone`; `:instant` is the same with its offset.
   *
   * @param expected.feed codes that the change feed shows since the hour began. Empty: the rescan must find the change.
   */
  step(expected: { feed: readonly string[] }, sql: string): Promise<void>;
  /** The orders at the service by code, their lines in the order of product, price and status. */
  orders(): Promise<Record<string, ServiceOrder>>;
  /**
   * The `delivered_at` that the preset suggests where the system knows none, for the lines of an order by product. The
   * three days for the way are left out.
   */
  suggestedDeliveries(code: string): Promise<Record<string, string | undefined>>;
  /** What `sync catalog` does. */
  syncCatalog(): Promise<void>;
  /**
   * The catalog is synced, and leaves these at the service.
   *
   * @param expected.categories names by code: `Shirts`, `Shirts < <code of the parent>`, `Shirts < 12 (hidden)`.
   */
  expectCatalog(expected: { categories: Record<string, string>; grades?: readonly string[] }): Promise<void>;
  /** Runs a rescan, and gives the orders that were pushed before and that the shop does not show any more. */
  absentOrders(): Promise<string[]>;
  /** Another sync sends nothing, and `verify orders` would find shop and service the same. */
  expectAgreement(): Promise<void>;
};

/** The same on a new MariaDB database. Statements run as these shops run them: in UTC and without strict mode. */
export async function openMariadbShop(name: string, options: Omit<PresetOptions, 'database'>): Promise<PresetWorld> {
  const database = await createMysqlDatabase();
  const run = (sql: string) => database.query(`set sql_mode = ''; set time_zone = '+00:00'; ${sql}`);
  return openPresetWorld(name, { ...options, database: { url: database.url, run, drop: database.drop } });
}

const presetFolder = (name: string) => join(import.meta.dirname, '..', '..', 'sql', 'shop', 'presets', name);
const hourMs = 3_600_000;

/**
 * A shop with the tables of `test/presets/<name>/schema.sql`, read by the queries of the preset. Closed with its test.
 */
export async function openPresetWorld(name: string, options: PresetOptions): Promise<PresetWorld> {
  const { timeZone, products, database, sqlDir = presetFolder(name) } = options;
  const world = await openWorld({
    shop: 'empty',
    environment: {
      SHOP_SQL_DIR: sqlDir,
      ...(database && { SHOP_DATABASE_URL: database.url }),
      ...(timeZone && { SHOP_TIME_ZONE: timeZone }),
    },
  });
  onTestFinished(async () => {
    await world[Symbol.asyncDispose]();
    await database?.drop?.();
  });
  const run = database ? database.run : (sql: string) => world.shop(sql);
  await run(await readFile(join(import.meta.dirname, name, 'schema.sql'), 'utf8'));
  await knowProducts(world.atService, world.warehouse, products);
  let opened: Promise<App> | undefined;
  const app = () => {
    opened ??= world.openApp();
    return opened;
  };
  /** Two days ago, so that all hours of a life are past. */
  const start = Math.floor(Date.now() / hourMs) * hourMs - 48 * hourMs;
  let hours = 0;

  const step: PresetWorld['step'] = async ({ feed }, sql) => {
    hours += 1;
    const at = new Date(start + hours * hourMs);
    await run(datedSql(sql, at, timeZone ?? 'UTC'));
    const { shop } = await app();
    const page = await shop.changedSince({ at: at.toISOString(), code: '' }, 1000);
    expect([...new Set(page.keys.map(({ code }) => code))].sort(), `what the feed shows of hour ${hours}`).toEqual(
      [...feed].sort(),
    );
    if (feed.length > 0) await syncOrdersOnce(await app());
    else expect((await rescanOrdersOnce(await app(), 4)).orders_pushed).toBeGreaterThan(0);
    expect(await openDeadLetters(world)).toEqual([]);
  };

  const signal = new AbortController().signal;
  const syncCatalog = async () => {
    const opened = await app();
    const deps = orderDeps(opened, signal);
    await syncCategories(deps);
    await syncUserGrades(deps);
    expect(await openDeadLetters(world)).toEqual([]);
  };
  return {
    world,
    given: async (sql) => void (await run(datedSql(sql, new Date(start), timeZone ?? 'UTC'))),
    step,
    orders: async () => {
      const all = await ordersAtService<ServiceOrder & { code: string }>(world.atService);
      return Object.fromEntries(all.map(({ code, ...order }) => [code, readable(order, start) as ServiceOrder]));
    },
    async suggestedDeliveries(code) {
      const url = database?.url ?? world.shopUrl;
      const shop = await openTables({ url, run }, await suggestedQueries(sqlDir), timeZone ?? 'UTC');
      const [read] = await shop.orders([code]);
      const hoursOf = (date: string) => `+${(Date.parse(date) - start) / hourMs}h`;
      const lines = read?.lines ?? [];
      return Object.fromEntries(
        lines.map((line) => [line.product_code, line.delivered_at ? hoursOf(line.delivered_at) : undefined]),
      );
    },
    syncCatalog,
    async expectCatalog({ categories, grades = [] }) {
      await syncCatalog();
      expect(await catalogAtService(world.atService)).toEqual({ categories, grades: [...grades].sort() });
    },
    async absentOrders() {
      await rescanOrdersOnce(await app(), 4);
      const rows = await world.warehouse<{ code: string }>(
        'select order_code as code from sync.order_links where absent_since is not null order by 1',
      );
      return rows.map(({ code }) => code);
    },
    async expectAgreement() {
      const before = JSON.stringify(world.service.requests());
      await syncOrdersOnce(await app());
      expect(JSON.stringify(world.service.requests()), 'requests of a run without changes').toBe(before);
      const deps = orderDeps(await app(), signal);
      const options = { repair: false, rights: rightsOf(await app(), { trigger: 'repair' }) };
      const verified = await verifyOrders({ ...deps, onProgress() {} }, options);
      expect(verified).toMatchObject({ differing: 0, notCompared: 0, differences: [], unknown: [] });
    },
  };
}

/** The queries of orders with the column that order_lines.sql suggests in a comment, or README.md as an example. */
async function suggestedQueries(sqlDir: string): Promise<Record<string, string>> {
  const [orders = '', feed = '', lines = '', readme = ''] = await Promise.all(
    ['orders.sql', 'changed_orders.sql', 'order_lines.sql', 'README.md'].map((file) =>
      readFile(join(sqlDir, file), 'utf8'),
    ),
  );
  const comment = /^ *--( +case .+ as delivered_at,)$/m.exec(lines)?.[1];
  const suggested = comment ?? /^ {6}case\n(?: {6}.*\n)+? {6}end as delivered_at,$/m.exec(readme)?.[0];
  if (!suggested?.includes('3 day')) throw new Error(`No delivered_at with three days for the way in ${sqlDir}`);
  const column = suggested.replaceAll('3 day', '0 day');
  return { orders, changed_orders: feed, order_lines: lines.replace(/^select$/m, `select ${column}`) };
}

function datedSql(sql: string, at: Date, timeZone: string): string {
  // The Swedish form of a date is that of SQL.
  const local = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(at);
  const instant = `${at.toISOString().slice(0, 19).replace('T', ' ')}+00`;
  return sql.replaceAll(/:now\b/g, `'${local}'`).replaceAll(/:instant\b/g, `'${instant}'`);
}

const openDeadLetters = (world: World) =>
  world.warehouse('select kind, key, reason from sync.dead_letters where resolved_at is null order by kind, key');

const dates = new Set(['created', 'shipped', 'delivered']);

function readable(value: unknown, start: number): unknown {
  if (Array.isArray(value)) return value.map((item) => readable(item, start));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== '')
      .map(([key, field]) => {
        if (dates.has(key)) return [key, `+${(Date.parse(String(field)) - start) / hourMs}h`];
        return [key, key === 'options' ? field : readable(field, start)];
      }),
  );
}
