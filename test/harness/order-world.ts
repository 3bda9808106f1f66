import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Counts } from '../../src/base/counts.ts';
import { packagePath } from '../../src/base/package-path.ts';
import type { PushRecord } from '../../src/warehouse/orders/order-store.ts';
import { queryAgain, valuesOf } from './database.ts';
import { type Rule, startRuleProxy } from './proxy.ts';
import { type SyncRun, syncOrdersOnce } from './sync-orders.ts';
import { openWorld, testIn, type World, type WorldOptions } from './world.ts';

export type OrderWorld = Awaited<ReturnType<typeof openOrderWorld>>;

/** A shop of two plain tables (`o`, `l`), the reference service behind a proxy with rules, and a warehouse. */
export async function openOrderWorld(options: WorldOptions = {}) {
  // Each day that a rescan reads costs ten statements, and the orders of most tests are an hour old. There are no
  // reviews, so a run of reviews reads all days since this year began.
  const days = { ORDER_RESCAN_DAYS: '2', REVIEW_YEARS_FROM: String(new Date().getFullYear()) };
  const environment = { SHOP_SQL_DIR: await orderShopQueries(), ...days, ...options.environment };
  const world = await openWorld({ ...options, environment });
  await createOrderShop(world.shopUrl);
  const proxy = await world.through(startRuleProxy);
  let app: ReturnType<World['openApp']> | undefined;
  /** One incremental run in this process, without the queue. */
  const sync = async (run?: SyncRun): Promise<Counts> => {
    app ??= world.openApp();
    return syncOrdersOnce(await app, run);
  };
  /**
   * Moves into the past what is remembered of the orders, the next attempts of failed ones and the ends of leases.
   * @param interval an interval of Postgres.
   */
  const timePasses = async (interval: string) => {
    const columns = ['due_at', 'absent_since', 'lease_expires_at', 'pushed_at'];
    const earlier = columns.map((column) => `${column} = ${column} - $1::interval`);
    await world.warehouse(`update sync.order_links set ${earlier.join(', ')}`, [interval]);
    await world.warehouse('update sync.sub_order_links set linked_at = linked_at - $1::interval', [interval]);
  };
  return {
    ...world,
    /** Inserts orders of the shop with their lines. */
    async place(...orders: readonly ShopOrder[]) {
      if (orders.length > 0) await world.shop(...insertOf(orders));
    },
    /** From now on the service treats requests by this rule. */
    serviceRule: (rule: Rule) => proxy.use(rule),
    /** Requests since the last rule was set, except requests for a token. */
    requests: () => proxy.requests,
    /** The same without GET. */
    writes: () => proxy.requests.filter(({ method }) => method !== 'GET'),
    /** The codes of the orders at the service, in their order. */
    codesAtService: async () =>
      valuesOf(await world.atService('select code from reference_service.orders order by code')),
    sync,
    timePasses,
    /** So many incremental runs, each a day after what was before. */
    async syncDaily(runs: number) {
      for (let run = 1; run <= runs; run += 1) {
        await timePasses('1 day');
        await sync();
      }
    },
    /** The orders count as pushed with the dates of creation that the shop shows now, as if time had passed. */
    async rememberDates() {
      const dates = JSON.stringify(await world.shop('select code, created_at as at from o'));
      await world.warehouse(
        `update sync.order_links set ordered_at = at from jsonb_to_recordset($1) as o (code text, at timestamptz)
         where order_code = code`,
        [dates],
      );
    },
    openDeadLetters: () =>
      world.warehouse<{ kind: string; key: string; reason: string }>(
        'select kind, key, reason from sync.dead_letters where resolved_at is null order by kind, key collate "C"',
      ),
  };
}

/** The record of a push that changed nothing. */
export const emptyPush: PushRecord = {
  orderId: 1,
  fingerprint: 'f',
  sentFields: [],
  failedPushes: 0,
  isAnswered: true,
  dueAfterMs: null,
  userGradeCode: undefined,
  userGradeId: undefined,
  orderedAt: null,
  lines: [],
  waiting: [],
  deadLetters: [],
};

/** `worldTest` with worlds of orders. */
export const orderTest = testIn(openOrderWorld);

/** A shop of two plain tables, for tests that change single orders and lines. */
export const orderShopSchema = `
  create table o (
    code text, created_at timestamptz not null default now() - interval '1 hour',
    updated_at timestamptz not null default now() - interval '1 hour', total_price numeric not null default 100,
    user_code text, user_phone text, user_email text, order_device text, deleted_at timestamptz
  );
  create table l (
    order_code text, line_code text, product_id bigint, product_code text, price numeric not null default 10,
    status text default 'paid', invoice text, product_options jsonb default '{}'
  )`;

export async function createOrderShop(url: string): Promise<void> {
  await queryAgain(url, orderShopSchema);
}

/** Queries by the name of their file, such as `changed_orders`. */
type Queries = Readonly<Record<string, string>>;

/** A folder with the queries of the two tables, and with these. */
export async function orderShopQueries(queries: Queries = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-queries-'));
  const lines = 'select * from l; -- as people end their queries\n';
  await writeQueries(folder, { orders: 'select * from o', order_lines: lines, ...queries });
  return folder;
}

/** @param folder the SHOP_SQL_DIR of a world. */
export async function writeQueries(folder: string | undefined, queries: Queries): Promise<void> {
  for (const [name, text] of Object.entries(queries)) await writeFile(join(folder ?? '', `${name}.sql`), text);
}

/**
 * A folder with the queries of the sample shop, some of them replaced.
 *
 * @param edit what becomes of the text of a query, such as `changed_orders`.
 */
export async function sampleShopQueries(edit: Record<string, (sql: string) => string> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-queries-'));
  await cp(packagePath('sql', 'shop'), folder, { recursive: true });
  for (const [name, change] of Object.entries(edit)) {
    const file = join(folder, `${name}.sql`);
    await writeFile(file, change(await readFile(file, 'utf8')));
  }
  return folder;
}

/** A line as a row of the shop's table `l`. A column that is left out has the default of `orderShopSchema`. */
export type ShopLine = { line_code: string; product_id?: number; product_code?: string } & LineFields;
type LineFields = { price?: number; status?: string; invoice?: string; product_options?: Record<string, string> };

/** An order as a row of the shop's table `o`, with its lines. */
export type ShopOrder = { fields: { code: string } & OrderFields; lines: readonly ShopLine[] };
type OrderFields = { total_price?: number; user_code?: string; user_email?: string; user_phone?: string } & OrderDates;
type OrderDates = { created_at?: Date; updated_at?: Date };

/**
 * An order of the shop with its lines, for `OrderWorld.place`:
 *
 *     await world.place(order('A', line('1', 7)), order('B', { user_email: 'b@example.com' }));
 */
export function order(code: string, ...rest: [OrderFields, ...ShopLine[]] | ShopLine[]): ShopOrder {
  const [first, ...others] = rest;
  if (first === undefined || 'line_code' in first) return { fields: { code }, lines: rest as ShopLine[] };
  return { fields: { code, ...first }, lines: others as ShopLine[] };
}

/** @param product its id at the service as a number, or its code in the shop as a text. */
export function line(code: string, product: number | string, more: LineFields = {}): ShopLine {
  const which = typeof product === 'number' ? { product_id: product } : { product_code: product };
  return { line_code: code, ...which, ...more };
}

/** Orders O1, O2 … with the lines 1, 2 …; all lines of order O7 are of product 7. @param lines how many order n has. */
export const orders = (count: number, lines: (n: number) => number = () => 1): ShopOrder[] =>
  Array.from({ length: count }, (_, index) => {
    const n = index + 1;
    return order(`O${n}`, ...Array.from({ length: lines(n) }, (_, at) => line(`${at + 1}`, n)));
  });

/** One statement that inserts the orders and their lines, with its values. */
function insertOf(placed: readonly ShopOrder[]): [text: string, values: string[]] {
  const rows = placed.map(({ fields }) => fields);
  const lines = placed.flatMap(({ fields, lines }) => lines.map((one) => ({ order_code: fields.code, ...one })));
  const parts = [...byColumns('o', rows), ...byColumns('l', lines)];
  const inserts = parts.map(
    ({ table, columns }, index) =>
      `i${index} as (insert into ${table} (${columns})
        select ${columns} from jsonb_populate_recordset(null::${table}, $${index + 1}))`,
  );
  return [`with ${inserts.join(', ')} select`, parts.map(({ alike }) => JSON.stringify(alike))];
}

/** Rows with the same columns are one insert: a named column has no default. */
const byColumns = (table: 'o' | 'l', rows: readonly object[]) =>
  [...Map.groupBy(rows, (row) => Object.keys(row).join(', '))].map(([columns, alike]) => ({ table, columns, alike }));
