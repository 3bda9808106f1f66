import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { packagePath } from '../src/base/package-path.ts';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { startReferenceService } from '../src/sandbox/reference-service/index.ts';
import { seedReviews } from '../src/sandbox/reference-service/seed.ts';
import { changeScript, lateTransaction } from '../src/sandbox/sample-shop/change-script.ts';
import { selectOf } from '../src/shop/queries.ts';
import { runProcess } from '../test/harness/cli.ts';
import { aDayPasses } from '../test/harness/service-view.ts';
import { pretendPushed } from './pretend-pushed.ts';
import { connect, growShop, load, say as print } from './stage.ts';

/**
 * Checks that the service is exactly as the shop after feed and rescan. The sample shop grown by SQL is pushed to the
 * reference service over HTTP by the command line. Then come three days of the change script. Compares every order
 * after each step. Exits 1 if a number differs from that of the script.
 *
 *     npm run bench:changes -- --orders 100000
 *     npm run bench:changes -- --orders 1000000 --pushed-days 60
 *
 * `--pushed-days N`: only the orders of the last N days are pushed over HTTP. All older ones are written into both ends
 * as a push would have left them.
 */
const { values: given } = parseArgs({
  options: {
    orders: { type: 'string', default: '100000' },
    'rescan-days': { type: 'string', default: '60' },
    'pushed-days': { type: 'string' },
    every: { type: 'string' },
  },
});
const orders = Number(given.orders);
const rescanDays = Number(given['rescan-days']);
const every = Number(given.every ?? Math.max(100, Math.round(orders / 1000)));

/**
 * One row an order: its code, and as one text all that both ends must agree on. E-mail address and phone number are
 * left out, because the age of an order decides whether they are sent.
 */
type OrderState = { code: string; state: string };
type StateDifference = { code: string; kind: 'missing' | 'extra' | 'differs' };

/** What the sample shop shows through the shipped queries. Orders that are marked as removed are left out. */
async function shopStateSql(): Promise<string> {
  const query = async (name: string) => selectOf(await readFile(packagePath('sql', 'shop', `${name}.sql`), 'utf8'));
  return `
    with lines as (
      select order_code, jsonb_agg(line order by line) as lines from (
        select order_code, ${lineState('l', 'l.product_code')} as line from (${await query('order_lines')}\n) l
      ) of_lines group by order_code
    )
    select o.code, ${orderState('o', 'g.name', 'l.lines')} as state
    from (${await query('orders')}\n) o
    left join (${await query('user_grades')}\n) g on g.code = o.user_grade_code
    left join lines l on l.order_code = o.code
    where o.deleted_at is null`;
}

/** What the reference service holds, in the same form. */
const serviceStateSql = `
  with lines as (
    select order_id, jsonb_agg(line order by line) as lines from (
      select s.order_id, ${lineState('s', 'p.code')} as line
      from reference_service.sub_orders s join reference_service.products p on p.id = s.product_id
    ) of_lines group by order_id
  )
  select o.code, ${orderState('o', 'g.name', 'l.lines')} as state
  from reference_service.orders o
  left join reference_service.user_grades g on g.id = o.user_grade_id
  left join lines l on l.order_id = o.id`;

function orderState(o: string, grade: string, lines: string): string {
  return `jsonb_build_array(${seconds(`${o}.created_at`)}, trim_scale(${o}.total_price), ${o}.user_code, ${o}.user_name, ${grade},
    ${o}.store_name, ${o}.order_device, ${o}.mileage, ${lines})::text`;
}

function lineState(l: string, productCode: string): string {
  return `jsonb_build_array(${productCode}, trim_scale(${l}.price), ${l}.status, ${seconds(`${l}.delivery_started_at`)},
    ${seconds(`${l}.delivered_at`)}, ${l}.invoice, coalesce(${l}.delivery_service, ''), coalesce(${l}.product_options, '{}'))`;
}

/** The service keeps whole seconds. */
function seconds(date: string): string {
  return `floor(extract(epoch from ${date}))`;
}

/** A hash in place of the text, for many orders. */
const hashed = (sql: string): string => `select code, md5(state) as state from (${sql}) s`;

/** Orders that are not the same at both ends. */
function stateDifferences(shop: readonly OrderState[], service: readonly OrderState[]): StateDifference[] {
  const atService = new Map(service.map(({ code, state }) => [code, state]));
  const found = shop.flatMap(({ code, state }): StateDifference[] => {
    const other = atService.get(code);
    atService.delete(code);
    if (other === state) return [];
    return [{ code, kind: other === undefined ? 'missing' : 'differs' }];
  });
  return [...found, ...[...atService.keys()].map((code): StateDifference => ({ code, kind: 'extra' }))];
}

await using opened = new AsyncDisposableStack();
const server = await startEmbeddedDatabase();
opened.defer(() => server.close());
const shopUrl = await server.createDatabase('shop');
const warehouseUrl = await server.createDatabase('warehouse');
const serviceUrl = await server.createDatabase('service');
const began = performance.now();
const say = (text: string) => print(`${((performance.now() - began) / 1000).toFixed(0).padStart(5)} s  ${text}`);
const shown = (n: number) => n.toLocaleString('en');
say(`${shown(orders)} orders, one of ${every} a change, load ${load()}`);

const { client: shop, reviews } = await growShop(opened, shopUrl, orders);
const service = await startReferenceService({ databaseUrl: serviceUrl });
opened.defer(() => service.close());
await seedReviews(serviceUrl, reviews);
const atService = await connect(opened, serviceUrl);

const environment = {
  SHOP_DATABASE_URL: shopUrl,
  WAREHOUSE_DATABASE_URL: warehouseUrl,
  REVIEW_API_BASE_URL: service.url,
  REVIEW_API_CLIENT_ID: 'demo',
  REVIEW_API_CLIENT_SECRET: 'demo',
  ORDER_DELETES: 'send',
  ORDER_RESCAN_DAYS: String(rescanDays),
  LOG_LEVEL: 'error',
};
/** A command that ends with status 0. Returns what it counts. */
async function cli(...args: string[]): Promise<Record<string, number>> {
  const start = performance.now();
  const { status, stdout, stderr } = await runProcess(args, environment);
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stdout}${stderr}`);
  const seconds = (performance.now() - start) / 1000;
  const { counts } = args.includes('--json') ? JSON.parse(stdout) : { counts: {} };
  say(`${args.join(' ')}: ${seconds.toFixed(1)} s ${JSON.stringify(counts)}`);
  return counts;
}
/** How many orders are not the same at both ends. */
async function differing(): Promise<number> {
  const [ofShop, ofService] = await Promise.all([
    shop.query<OrderState>(hashed(await shopStateSql())),
    atService.query<OrderState>(hashed(serviceStateSql)),
  ]);
  const found = stateDifferences(ofShop.rows, ofService.rows);
  const examples = found.slice(0, 3).map(({ code, kind }) => `${code} ${kind}`);
  say(`compared ${shown(ofShop.rows.length)} orders: ${shown(found.length)} differ ${examples.join(', ')}`);
  return found.length;
}

await cli('migrate');
await cli('sync', 'reviews', '--json');
await cli('sync', 'catalog', '--json');
const pushedDays = given['pushed-days'];
if (pushedDays !== undefined) {
  const from = new Date(Date.now() - Number(pushedDays) * 86_400_000).toISOString().slice(0, 10);
  await cli('backfill', 'orders', '--from', from, '--json');
  say(`${shown(await pretendPushed({ shopUrl, warehouseUrl, serviceUrl }))} older orders written into both ends`);
}
await cli('sync', 'orders', '--json');
const checks: [what: string, found: number, expected: number][] = [
  ['differ after the first push', await differing(), 0],
];

// The three days of the change script. On the first one, a transaction is open during a run that reads newer changes,
// and commits after it.
const script = changeScript({ every, rescanDays });
const [late, warehouse] = [await connect(opened, shopUrl), await connect(opened, warehouseUrl)];
for (const day of [1, 2, 3] as const) {
  say(`day ${day}:`);
  if (day === 1) await late.query(`begin; ${lateTransaction({ every, rescanDays })}`);
  const found = { feed: 0, rescan: 0, absence: 0 };
  let removed = 0;
  for (const { name, foundBy, sql } of script[day]) {
    const changed = [await shop.query(sql)].flat().at(-1)?.rowCount ?? 0;
    say(`  ${shown(changed)} × ${name}`);
    found[foundBy] += changed;
    if (name === 'an order is marked as removed without a date') removed += changed;
  }
  // The script deletes far more than usual.
  await cli('sync', 'orders', '--allow-removals', '--json');
  if (day === 1) {
    await late.query('commit');
    await cli('sync', 'orders', '--json');
  }
  // Orders that were deleted on the first day are still at the service until the second one; half of them return on it.
  const afterFeed = found.rescan + (day === 3 ? 0 : found.absence);
  checks.push([`differ on day ${day} after the incremental runs`, await differing(), afterFeed]);
  const { orders_pushed: missed = 0 } = await cli('sync', 'reconcile', '--allow-removals', '--json');
  checks.push(
    [`pushed by the rescan of day ${day}`, missed, found.rescan - removed],
    [`differ on day ${day} after the rescan`, await differing(), day === 1 ? found.absence : 0],
  );
  await warehouse.query(aDayPasses);
}

for (const [what, found, expected] of checks) {
  if (found !== expected) process.exitCode = 1;
  say(`${found === expected ? 'ok  ' : 'WRONG'} ${shown(found)} orders ${what}, expected ${shown(expected)}`);
}
say(`load ${load()} at the end`);
