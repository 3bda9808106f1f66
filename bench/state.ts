/**
 * What years of the default schedule leave in the schema `sync`. Each job is run once for real, on a sample shop in
 * which something changed. SQL copies the rows that it leaves, for every run of the schedule, day by day. After each
 * day, the functions of the daily reconcile prune them. Prints rows and size of each table after each year, how long
 * `status` takes, and what it reads.
 *
 *     npm run bench:state -- --years 2 --webhooks 200
 */
import { parseArgs } from 'node:util';
import { openApp } from '../src/app/app.ts';
import { readChanged } from '../src/background/apply-webhooks.ts';
import { openLog } from '../src/base/log.ts';
import { sampleShop } from '../src/sandbox/demo/sources.ts';
import { setStage } from '../src/sandbox/demo/stage.ts';
import { takeChangedReview } from '../src/warehouse/changed-reviews.ts';
import { pruneHistory } from '../src/warehouse/runs/retention.ts';
import { acceptWebhook } from '../src/webhooks/accept-webhook.ts';
import { runCli, runProcess } from '../test/harness/cli.ts';
import { connect, say } from './stage.ts';

const { values: given } = parseArgs({
  options: {
    years: { type: 'string', default: '2' },
    orders: { type: 'string', default: '300' },
    webhooks: { type: 'string', default: '200' },
  },
});
const dayMs = 86_400_000;
const years = Number(given.years);

/** Runs a day of each job by the default schedule, and whatever else comes each day. */
const aDay = {
  'sync orders': 288,
  'sync reviews': 96,
  'sync catalog': 24,
  'sync reconcile': 1,
  'a webhook': Number(given.webhooks),
  'a dead letter that is discarded': 1,
};

/**
 * Tables that the runs add rows to, whether the dates of the shop or the service in them stay, and the columns with ids
 * of runs.
 */
const tables = [
  { name: 'sync.runs', ids: ['id'], fixed: [] },
  { name: 'sync.export_windows', ids: ['run_id'], fixed: [] },
  { name: 'sync.dead_letters', ids: ['key'], fixed: [] },
  { name: 'warehouse.review_overview', ids: [], fixed: ['first_review_created_at'] },
] as const;

await using opened = new AsyncDisposableStack();
const stage = await setStage(opened, sampleShop(new Date(), Number(given.orders)));
const { config, urls } = stage;
const environment = {
  SHOP_DATABASE_URL: urls.shop,
  SHOP_TIME_ZONE: 'Asia/Seoul',
  WAREHOUSE_DATABASE_URL: urls.warehouse,
  REVIEW_API_BASE_URL: urls.service,
  REVIEW_API_CLIENT_ID: 'demo',
  REVIEW_API_CLIENT_SECRET: 'demo',
  LOG_LEVEL: 'error',
};
const app = opened.use(await openApp(config, { log: openLog('error') }));
const { db } = app.warehouse;
const client = await connect(opened, urls.warehouse);
const shop = await connect(opened, urls.shop);
const service = await connect(opened, urls.serviceDatabase);
const known = new Map<string, { column: string; type: string }[]>();

for (const job of ['catalog', 'orders', 'reviews', 'reconcile', 'orders']) await run('sync', job);
await client.query('create schema bench');
const realAt = Date.now();
await once('sync orders', async () => {
  await shop.query(`update shop.orders set paid_amount = paid_amount + 1, modified_at = now()
    where order_id in (select order_id from shop.orders order by ordered_at desc limit 1)`);
  await run('sync', 'orders');
});
await once('sync reviews', async () => {
  await service.query(`update reference_service.reviews set message = 'edited', updated_at = now()
    where id = (select max(id) from reference_service.reviews)`);
  await run('sync', 'reviews');
});
await once('sync catalog', () => run('sync', 'catalog'));
await once('sync reconcile', async () => {
  // One change that the feed misses, and one review that the service shows late.
  await shop.query(`update shop.orders set paid_amount = paid_amount + 1
    where order_id in (select order_id from shop.orders order by ordered_at desc offset 1 limit 1)`);
  await service.query(`create temporary table late as select * from reference_service.reviews order by created_at desc offset 3 limit 1;
    update late set id = (select max(id) + 1 from reference_service.reviews);
    insert into reference_service.reviews overriding system value select * from late`);
  await run('sync', 'reconcile');
});
const receivers = [{ brand: undefined, db, brandIds: [], onStored() {} }];
await once('a webhook', async () => {
  await acceptWebhook(receivers, [], [{ brand_id: 1, reviews: [{ id: 1 }] }]);
  const taken = await takeChangedReview(db);
  if (taken) await readChanged(app, taken);
});
await once('a dead letter that is discarded', async () => {
  await acceptWebhook(receivers, [], [{ brand_id: 1, reviews: [{ id: 'x' }] }]);
  const { rows } = await client.query('select id::text from sync.dead_letters where resolved_at is null');
  await run('dead-letters', 'discard', ...rows.map(({ id }) => id));
});

let copies = 0;
for (let year = 1; year <= years; year += 1) {
  for (let day = 1; day <= 365; day += 1) {
    // The last day simulated is today.
    const at = new Date(realAt - (years * 365 - (year - 1) * 365 - day) * dayMs);
    for (const [job, times] of Object.entries(aDay)) await copy(job, times, at);
    await pruneHistory(db, at, config.reconcile.allDays);
    // As autovacuum does, about once a day.
    for (const { name } of tables) await client.query(`vacuum ${name}`);
  }
  await client.query('vacuum analyze');
  await report(year);
}
await measureStatus();

async function run(...args: string[]): Promise<void> {
  const { status, stdout, stderr } = await runCli(args, environment);
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stdout}${stderr}`);
}

function templateOf(job: string, table: string): string {
  return `bench."${job} ${table}"`;
}

/** Keeps the rows that the work leaves, table by table. */
async function once(job: string, work: () => Promise<void>): Promise<void> {
  for (const { name } of tables) {
    await client.query(`create temporary table before_${name.replace('.', '_')} as select * from ${name}`);
  }
  await work();
  const found: string[] = [];
  for (const { name } of tables) {
    const before = `before_${name.replace('.', '_')}`;
    const columns = (await columnsOf(name)).map(({ column }) => column).join(', ');
    await client.query(
      `create table ${templateOf(job, name)} as select ${columns} from ${name} except all select ${columns} from ${before}`,
    );
    await client.query(`drop table ${before}`);
    const { rows } = await client.query(`select count(*)::integer as n from ${templateOf(job, name)}`);
    if (rows[0]?.n > 0) found.push(`${rows[0].n} in ${name}`);
  }
  say(`${job}: ${found.join(', ')}`);
}

/** Copies what one run left, for each run of the day. */
async function copy(job: string, times: number, day: Date): Promise<void> {
  for (const { name, ids, fixed } of tables) {
    const columns = await columnsOf(name);
    const values = columns.map(({ column, type }) => {
      if ((ids as readonly string[]).includes(column)) return `t.${column} || '-' || ($1 + n)`;
      if (type === 'timestamp with time zone' && !(fixed as readonly string[]).includes(column)) {
        return `t.${column} + $2::interval - n * interval '1 day' / $3`;
      }
      return `t.${column}`;
    });
    const shift = `${Math.round((day.getTime() - realAt) / 1000)} seconds`;
    await client.query(
      `insert into ${name} (${columns.map(({ column }) => column).join(', ')})
       select ${values.join(', ')} from ${templateOf(job, name)} t cross join generate_series(0, $3 - 1) n
       where $1::bigint is not null and $2::interval is not null on conflict do nothing`,
      [copies, shift, times],
    );
  }
  copies += times;
}

/** Without identity columns: a reconcile gives new ids to rows that it joins. */
async function columnsOf(table: string): Promise<{ column: string; type: string }[]> {
  const found = known.get(table);
  if (found) return found;
  const { rows } = await client.query(
    `select column_name as column, data_type as type from information_schema.columns
     where table_schema || '.' || table_name = $1 and is_identity = 'NO' order by ordinal_position`,
    [table],
  );
  known.set(table, rows);
  return rows;
}

async function report(year: number): Promise<void> {
  const { rows } = await client.query(`
    select n.nspname || '.' || c.relname as name, c.reltuples::bigint as rows, pg_total_relation_size(c.oid)::float8 / 1e6 as mb
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where (n.nspname = 'sync' or c.relname = 'review_overview') and c.relkind = 'r'
    order by mb desc`);
  const total = rows.filter(({ name }) => name.startsWith('sync.')).reduce((sum, { mb }) => sum + mb, 0);
  say(`\nafter year ${year}: sync ${total.toFixed(1)} MB`);
  for (const { name, rows: count, mb } of rows) if (mb > 0.1) say(`  ${name}: ${count} rows, ${mb.toFixed(2)} MB`);
}

async function measureStatus(): Promise<void> {
  const seconds: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    const began = performance.now();
    const { status, stderr } = await runProcess(['status', '--json'], environment);
    if (status === null) throw new Error(stderr);
    seconds.push((performance.now() - began) / 1000);
  }
  say(`\nstatus --json: ${seconds.map((one) => one.toFixed(2)).join(', ')} s`);
}
