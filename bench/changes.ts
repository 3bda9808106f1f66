import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import pg from 'pg';
import { startEmbeddedDatabase } from '../src/sandbox/embedded-postgres/index.ts';
import { startReferenceService } from '../src/sandbox/reference-service/index.ts';
import { seedReviews } from '../src/sandbox/reference-service/seed.ts';
import { generateSampleShop } from '../src/sandbox/sample-shop/generate.ts';
import { growSampleShop } from '../src/sandbox/sample-shop/grow.ts';
import { loadSampleShop } from '../src/sandbox/sample-shop/load.ts';
import {
  changedDays,
  type Day,
  hashed,
  type OrderState,
  serviceStateSql,
  shopStateSql,
  stateDifferences,
} from './changed-days.ts';
import { pretendPushed } from './pretend-pushed.ts';

/**
 * Whether the service is exactly as the shop after feed and rescan: the sample shop grown by SQL, pushed to the
 * reference service over HTTP by the command line, then three days of the change script. Compares every order after
 * each step. Exits 1 where a number is not the one that the script says.
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

await using opened = new AsyncDisposableStack();
const server = await startEmbeddedDatabase();
opened.defer(() => server.close());
const [shopUrl, warehouseUrl, serviceUrl] = await Promise.all(
  ['shop', 'warehouse', 'service'].map((name) => server.createDatabase(name)),
);
if (!shopUrl || !warehouseUrl || !serviceUrl) throw new Error('a database could not be created');
const began = performance.now();
const say = (text: string) =>
  process.stdout.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(5)} s  ${text}\n`);
const shown = (n: number) => n.toLocaleString('en');
say(`${shown(orders)} orders, one of ${every} a change, load ${loadavg()[0]?.toFixed(1)}`);

const sample = generateSampleShop({ seed: 7, now: new Date(), orders: 60, reviews: 200 });
await loadSampleShop(shopUrl, sample);
const service = await startReferenceService({ databaseUrl: serviceUrl });
opened.defer(() => service.close());
await seedReviews(serviceUrl, sample.reviews);
const [shop, atService] = await Promise.all(
  [shopUrl, serviceUrl].map(async (connectionString) => {
    const client = new pg.Client({ connectionString });
    client.on('error', () => {});
    await client.connect();
    opened.defer(() => client.end());
    return client;
  }),
);
await shop?.query(growSampleShop(orders));
await shop?.query('vacuum analyze');

const environment = {
  PATH: process.env.PATH,
  SHOP_DATABASE_URL: shopUrl,
  WAREHOUSE_DATABASE_URL: warehouseUrl,
  REVIEW_API_BASE_URL: service.url,
  REVIEW_API_CLIENT_ID: 'demo',
  REVIEW_API_CLIENT_SECRET: 'demo',
  ORDER_DELETES: 'send',
  ORDER_RESCAN_DAYS: String(rescanDays),
  LOG_LEVEL: 'error',
};
const main = join(import.meta.dirname, '..', 'src', 'cli', 'main.ts');
async function cli(...args: string[]) {
  const start = performance.now();
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args], { env: environment });
  const seconds = (performance.now() - start) / 1000;
  const report = args.includes('--json') ? JSON.parse(stdout) : { counts: {} };
  say(`${args.join(' ')}: ${seconds.toFixed(1)} s ${JSON.stringify(report.counts)}`);
  return report;
}
async function differences() {
  const [ofShop, ofService] = await Promise.all([
    shop?.query<OrderState>(hashed(await shopStateSql())),
    atService?.query<OrderState>(hashed(serviceStateSql)),
  ]);
  const found = stateDifferences(ofShop?.rows ?? [], ofService?.rows ?? []);
  const examples = found.slice(0, 3).map(({ code, kind }) => `${code} ${kind}`);
  say(`compared ${shown(ofShop?.rows.length ?? 0)} orders: ${shown(found.length)} differ ${examples.join(', ')}`);
  return found;
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
  ['differ after the first push', (await differences()).length, 0],
];
for await (const day of changedDays({ shopUrl, warehouseUrl, cli, differences }, { every, rescanDays })) report(day);

function report(of: Day): void {
  const { day, changes } = of;
  say(`day ${day}:`);
  for (const { name, orders: count } of changes) say(`  ${shown(count)} × ${name}`);
  checks.push(
    [`differ on day ${day} after the incremental runs`, of.afterFeed.length, of.afterFeedExpected],
    [`pushed by the rescan of day ${day}`, of.missed, of.missedExpected],
    [`differ on day ${day} after the rescan`, of.afterRescan.length, of.afterRescanExpected],
  );
}

for (const [what, found, expected] of checks) {
  if (found !== expected) process.exitCode = 1;
  say(`${found === expected ? 'ok  ' : 'WRONG'} ${shown(found)} orders ${what}, expected ${shown(expected)}`);
}
say(`load ${loadavg()[0]?.toFixed(1)} at the end`);
