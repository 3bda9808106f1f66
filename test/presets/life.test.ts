import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { orderDeps } from '../../src/app/deps.ts';
import { presetFolder, readPresets } from '../../src/app/init/presets.ts';
import { syncCategories, syncUserGrades } from '../../src/orders/catalog/sync-catalog.ts';
import { verifyOrders } from '../../src/orders/compare/compare-orders.ts';
import { createMysqlDatabase, hasMariadb } from '../harness/servers.ts';
import { catalogAtService, knowProducts, ordersAtService } from '../harness/service-view.ts';
import { openTables } from '../harness/shop-servers.ts';
import { rightsOf, syncOrdersOnce } from '../harness/sync-orders.ts';
import { openWorld, type World } from '../harness/world.ts';

/** A run of a life looks back to its beginning. */
const lifeMinutes = 100_000;

/**
 * A life of orders in a shop system, `<preset>/life.yaml`, on the tables of `<preset>/schema.sql`. In its SQL `:now` is
 * the hour's date without zone in `zone`, `:instant` the same with its offset, and `:<word>` one of its `words`, which
 * are patterns.
 */
type Life = {
  /** Another preset with the same life; what stands here replaces what stands there. */
  like?: string;
  /** SHOP_TIME_ZONE, if the system writes dates without zone. */
  zone?: string;
  /** Product codes, as the preset selects them, which the service knows already. */
  products: string[];
  words?: Record<string, string>;
  /** For MariaDB: the zone of its clock, and the statements with which each session of the shop begins. */
  server?: { timeZone: string; session: string };
  life: Step[];
};

type Step = {
  /** Statements before anything is synced, or whose effect the next hour shows. */
  given?: string;
  /** Statements of one hour. Then one sync must bring all to the service; a rescan, if the feed shows nothing. */
  hour?: string;
  /** Codes of the orders that the change feed shows since the hour began. */
  feed?: string[];
  /** The orders' fields (null if empty) and all lines at the service that the hour changes. Dates are hours: `+3h`. */
  shows?: Record<string, Record<string, unknown>>;
  /** What `sync catalog` leaves at the service: `Shirts < <code of the parent> (hidden)`. */
  catalog?: 'synced' | { categories: Record<string, string>; grades: string[] };
  /**
   * The `delivered_at` that the preset suggests, for the lines of an order by product, without three days for the way.
   */
  suggested?: Record<string, Record<string, string | null>>;
  /** Orders that were pushed and that a rescan finds no more. */
  absent?: string[];
  /** Another sync sends nothing, and `verify orders` finds shop and service the same. */
  agrees?: true;
};

const hourMs = 3_600_000;
const fileOf = (name: string, file: string) => join(import.meta.dirname, name, file);

function lifeOf(name: string): Life {
  const own = parse(readFileSync(fileOf(name, 'life.yaml'), 'utf8')) as Life;
  return own.like === undefined ? own : { ...lifeOf(own.like), ...own };
}

const title = 'a life of orders in $name arrives at the service as the shop has it';

test.for(await readPresets())(title, async ({ name, database: dialect }, { skip }) => {
  const isMysql = dialect === 'mysql';
  if (isMysql) skip(!hasMariadb, 'there is no mariadbd on the path');
  const { zone, products, words = {}, server, life } = lifeOf(name);
  const database = isMysql ? await createMysqlDatabase('mariadb', { timeZone: server?.timeZone ?? 'UTC' }) : undefined;
  // As these shops run them: in UTC and without strict mode.
  const session = server?.session ?? `set sql_mode = ''; set time_zone = '+00:00'`;
  const world = await openWorld({
    environment: {
      SHOP_SQL_DIR: presetFolder(name),
      ORDER_RESCAN_DAYS: '4',
      ...(database && { SHOP_DATABASE_URL: database.url }),
      ...(zone && { SHOP_TIME_ZONE: zone }),
    },
  });
  onTestFinished(() => world[Symbol.asyncDispose]());
  const run = (sql: string) => (database ? database.query(`${session}; ${sql}`) : world.shop(sql));
  await run(await readFile(fileOf(name, 'schema.sql'), 'utf8'));
  await knowProducts(world.atService, world.warehouse, products);
  const app = await world.openApp();
  const deps = orderDeps(app, new AbortController().signal);
  /** Two days ago, so that all hours of a life are past. */
  const start = Math.floor(Date.now() / hourMs) * hourMs - 48 * hourMs;
  const hoursOf = (date: string) => `+${(Date.parse(date) - start) / hourMs}h`;
  const runAt = (at: Date, sql: string) => {
    const worded = Object.entries(words).reduce(
      (text, [word, by]) => text.replaceAll(RegExp(`:${word}`, 'g'), by),
      sql,
    );
    return run(datedSql(worded, at, zone ?? 'UTC'));
  };
  const expected: Record<string, Record<string, unknown>> = {};
  let hours = 0;
  let before = new Map<string, number[]>();

  for (const { given, hour, feed = [], shows = {}, catalog, suggested = {}, absent, agrees } of life) {
    if (given !== undefined) await runAt(new Date(start), given);
    if (hour !== undefined) {
      hours += 1;
      const at = new Date(start + hours * hourMs);
      await runAt(at, hour);
      const page = await app.shop.orderCodes({
        axis: 'updated',
        after: { at: at.toISOString(), code: '' },
        size: 1000,
      });
      const shown = new Set(page.keys.map(({ code }) => code));
      expect([...shown].sort(), `what the feed shows of hour ${hours}`).toEqual(feed.toSorted());
      if (feed.length > 0) await syncOrdersOnce(app, {}, lifeMinutes);
      else expect((await world.run('rescan-orders')).counts.orders_pushed).toBeGreaterThan(0);
      for (const [code, fields] of Object.entries(shows)) {
        const changed = Object.entries({ ...expected[code], ...fields }).filter(([, value]) => value !== null);
        expected[code] = Object.fromEntries(changed);
      }
      const all = await ordersAtService<{ code: string }>(world.atService);
      const found = Object.fromEntries(all.map(({ code, ...order }) => [code, readable(order, hoursOf)]));
      expect(found, `the orders at the service after hour ${hours}`).toEqual(expected);
      // A line keeps its sub-order, with its reviews, unless it leaves the order.
      const now = await subOrders(world);
      for (const [code, ids] of before) {
        const after = now.get(code) ?? [];
        expect(ids.filter((id) => !after.includes(id))).toHaveLength(Math.max(0, ids.length - after.length));
      }
      before = now;
    }
    if (catalog !== undefined) {
      await syncCategories(deps);
      await syncUserGrades(deps);
      if (catalog !== 'synced') expect(await catalogAtService(world.atService)).toEqual(catalog);
    }
    for (const [code, byProduct] of Object.entries(suggested)) {
      const url = database?.url ?? world.shopUrl;
      const shop = await openTables({ url }, await suggestedQueries(presetFolder(name)), zone ?? 'UTC');
      const [read] = await shop.orders([code]);
      const dates = (read?.lines ?? []).map(({ product_code: product, delivered_at: at }) => [
        product,
        at ? hoursOf(at) : null,
      ]);
      expect(Object.fromEntries(dates), `suggested deliveries after hour ${hours}`).toEqual(byProduct);
    }
    if (absent !== undefined) {
      await world.run('rescan-orders');
      const gone = 'select order_code as code from sync.order_links where absent_since is not null order by 1';
      expect(await world.warehouse(gone)).toEqual(absent.map((code) => ({ code })));
    }
    if (agrees) {
      const requests = JSON.stringify(world.service.requests());
      await syncOrdersOnce(app, {}, lifeMinutes);
      expect(JSON.stringify(world.service.requests()), 'requests of a run without changes').toBe(requests);
      const options = { repair: false, rights: rightsOf(app, { trigger: 'repair' }) };
      const verified = await verifyOrders({ ...deps, onProgress() {} }, options);
      expect(verified).toMatchObject({ differing: 0, notCompared: 0, differences: [], unknown: [] });
    }
    const open = 'select kind, key, reason from sync.dead_letters where resolved_at is null';
    expect(await world.warehouse(open)).toEqual([]);
  }
  expect(life.some(({ agrees }) => agrees)).toBe(true);
});

async function subOrders({ atService }: World): Promise<Map<string, number[]>> {
  const rows = await atService<{ code: string; ids: number[] }>(
    `select o.code, array_agg(s.id::integer) as ids from reference_service.orders o
     join reference_service.sub_orders s on s.order_id = o.id group by o.code`,
  );
  return new Map(rows.map(({ code, ids }) => [code, ids]));
}

/** The queries of orders with the column that order_lines.sql suggests in a comment, or README.md as an example. */
async function suggestedQueries(folder: string): Promise<Record<string, string>> {
  const [orders = '', feed = '', lines = '', readme = ''] = await Promise.all(
    ['orders.sql', 'changed_orders.sql', 'order_lines.sql', 'README.md'].map((file) =>
      readFile(join(folder, file), 'utf8'),
    ),
  );
  const comment = /^ *--( +case .+ as delivered_at,)$/m.exec(lines)?.[1];
  const suggestion = comment ?? /^ {6}case\n(?: {6}.*\n)+? {6}end as delivered_at,$/m.exec(readme)?.[0];
  if (!suggestion?.includes('3 day')) throw new Error(`No delivered_at with three days for the way in ${folder}`);
  const column = suggestion.replaceAll('3 day', '0 day');
  return { orders, changed_orders: feed, order_lines: lines.replace(/^select$/m, `select ${column}`) };
}

function datedSql(sql: string, at: Date, timeZone: string): string {
  // The Swedish form of a date is that of SQL.
  const local = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(at);
  const instant = `${at.toISOString().slice(0, 19).replace('T', ' ')}+00`;
  return sql.replaceAll(/:now\b/g, `'${local}'`).replaceAll(/:instant\b/g, `'${instant}'`);
}

/** Without empty fields, and with dates as hours. */
function readable(value: unknown, hoursOf: (date: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => readable(item, hoursOf));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== '');
  return Object.fromEntries(
    fields.map(([key, field]) => {
      if (['created', 'shipped', 'delivered'].includes(key)) return [key, hoursOf(String(field))];
      return [key, key === 'options' ? field : readable(field, hoursOf)];
    }),
  );
}
