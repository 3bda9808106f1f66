/**
 * What a large warehouse answers, and what it costs: views of bi and questions of docs/questions, with the rights of
 * bi_reader; migrations; landing, and the counts behind the views; commands. Prints its table.
 *
 *   npm run bench:bi                             a million reviews, a million delivered sub-orders
 *   npm run bench:bi -- --keep /var/tmp/bi --reviews 10000000                      on a server whose files stay (35 GB)
 *   npm run bench:bi -- --keep /var/tmp/bi --reviews 10000000 --part questions
 *
 * With --keep a database of each size is filled once, and the table of all that was measured there goes into
 * docs/benchmark-tables.md. `--part migrate` begins again with what was filled; the other parts go on with what they
 * find, in any order.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ask, readQuestions } from '../docs/warehouse-page/questions.ts';
import { generateSampleShop } from '../src/sandbox/sample-shop/generate.ts';
import { loadSampleShop } from '../src/sandbox/sample-shop/load.ts';
import { recount, recountAll } from '../src/warehouse/bi/recount.ts';
import { openWarehouse } from '../src/warehouse/index.ts';
import { migrateWarehouse } from '../src/warehouse/migrate.ts';
import { runProcess } from '../test/harness/cli.ts';
import { type Landing, landInTurn } from './landing.ts';
import { cpuOfEndedChildren, cpuOfFamily, scheduleOf } from './processor-time.ts';
import { connectToOne, fillingSql, median, openReviewStage } from './stage.ts';
import { writeTable } from './table.ts';

const { values: given } = parseArgs({
  options: {
    reviews: { type: 'string', default: '1000000' },
    keep: { type: 'string' },
    part: { type: 'string' },
  },
});
const size = Number(given.reviews);
if (!Number.isInteger(size) || size < 1000)
  throw new Error(`--reviews must be a number above 1000, not ${given.reviews}`);
const products = 5000;
const dayMs = 86_400_000;
/** The days of creation that a reconcile reads again each time. */
const recentDays = 45;
const years = { days: 1458, delivery: 2, untilReview: 22 };
/** Orders begin long enough ago that all reviews were written before those that the stub shows. */
const firstOrderAt = dayBefore(years.days + years.delivery + years.untilReview + recentDays + 1);
const stepSeconds = Math.floor(86_400 / Math.round(size / years.days));
const recentReviews = Math.floor(((recentDays + 1) * 86_400) / stepSeconds);
/** The stub shows the recent days up to today, as dense as the years before, about the newest orders. */
const recent = {
  count: recentReviews,
  stepSeconds,
  latencyMs: 0,
  from: dayBefore(recentDays + 1),
  codes: { products, product: 'product-', order: 'order-', firstOrder: size * 0.6 - recentReviews },
};
/** Takes the indexes that serve the counts out of a warehouse. */
const withoutCounts = `
  drop index warehouse.reviews_by_order;
  drop index warehouse.reviews_by_product`;

/** Questions to a view that has a row for each review or order: nobody reads such a view whole. */
const cuts: Readonly<Record<string, string>> = {
  reviews: `select product_code, count(*), avg(score) from bi.reviews
    where created_at >= '2025-06-01' and created_at < '2025-06-08' group by 1`,
  sub_orders: `select status, count(*) from bi.sub_orders
    where delivered_at >= '2025-06-01' and delivered_at < '2025-06-08' group by 1`,
  response_by_order: `select has_review, count(*), avg(days_from_delivery_to_review) from bi.response_by_order
    where ordered_at >= '2025-06-01' and ordered_at < '2025-06-08' group by 1`,
};

function dayBefore(days: number): string {
  return `${new Date(Date.now() - days * dayMs).toISOString().slice(0, 10)}T00:00:00Z`;
}

type Rows = [what: string, measured: string][];

await using opened = new AsyncDisposableStack();
const stage = await openReviewStage(opened, given.keep);
const [pid] = (await readFile(join(stage.database.directory, 'data', 'postmaster.pid'), 'utf8')).split('\n');
const server = Number(pid);
const connect = (url: string) => connectToOne(opened, url);

let rows: Rows = [];
function report(what: string, measured: string): void {
  rows.push([what, measured]);
  process.stdout.write(
    `${new Date().toISOString().slice(11, 19)} load ${loadavg()[0]?.toFixed(0)}  ${what}: ${measured}\n`,
  );
}

const seconds = (n: number) => `${n.toFixed(n < 10 ? 2 : 0)} s`;

/** Processor time of the whole server and of the programs that this process has started. */
const cpuOfAll = async () => (await cpuOfFamily(server)) + (await cpuOfEndedChildren(process.pid));

/** The time by the clock, and the processor time. For several turns, the median time and the least processor time. */
async function timed(what: string, work: () => Promise<unknown>, turns = 1): Promise<void> {
  const clocks: number[] = [];
  const used: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const before = await cpuOfAll();
    clocks.push(await secondsOf(work));
    used.push((await cpuOfAll()) - before);
  }
  report(what, `${seconds(median(clocks))}, processor ${seconds(Math.min(...used))}`);
}

/**
 * The median of three by the clock, with the time for which the server process waited for a processor that others had.
 * Also the least processor time, which others hardly change. The rest of the time, the server waits for the disk and
 * for us.
 */
async function asked(what: string, { client, pid }: Awaited<ReturnType<typeof connect>>, sql: string): Promise<void> {
  const clocks: number[] = [];
  const waits: number[] = [];
  const used: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const before = await scheduleOf(pid);
    clocks.push(await secondsOf(() => ask(client, sql)));
    const after = await scheduleOf(pid);
    waits.push(after.waited - before.waited);
    used.push(after.ran - before.ran);
  }
  const ms = (n: number) => `${Math.round(1000 * n).toLocaleString('en')} ms`;
  report(what, `${ms(median(clocks))}, waited ${ms(median(waits))}, processor ${ms(Math.min(...used))}`);
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (performance.now() - startedMs) / 1000;
}

async function withWarehouse<T>(
  url: string,
  work: (db: Awaited<ReturnType<typeof openWarehouse>>['db']) => Promise<T>,
) {
  await using warehouse = await openWarehouse({ url, connections: 1, silenceMs: 0 });
  return await work(warehouse.db);
}

/** Without the indexes, which are faster to make afterwards. Done once if the server is kept. */
async function fill(): Promise<void> {
  const name = `filled_${size}`;
  const { client } = await connect(await stage.database.createDatabase('postgres'));
  if ((await client.query('select from pg_database where datname = $1', [name])).rowCount !== 0) return;
  const unfinished = `unfinished_${size}`;
  await client.query(`drop database if exists ${unfinished}`);
  const url = await stage.database.createDatabase(unfinished);
  await withWarehouse(url, (db) => migrateWarehouse(db));
  const { client: filling } = await connect(url);
  const { rows: indexes } = await filling.query(`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index
    where indrelid in ('warehouse.reviews'::regclass, 'sync.sub_order_links'::regclass, 'sync.order_links'::regclass)
      and not exists (select from pg_constraint where conindid = indexrelid)`);
  for (const index of indexes) await filling.query(`drop index ${index.name}`);
  await filling.query(await fillingSql(size, products, firstOrderAt));
  for (const { definition } of indexes) await filling.query(definition);
  await filling.query('vacuum (analyze)');
  await filling.end();
  await client.query(`alter database ${unfinished} rename to ${name}`);
}

const measuredName = `measured_${size}`;
const measuredUrl = () => stage.database.createDatabase(measuredName);

async function environment(): Promise<Record<string, string>> {
  const warehouse = await measuredUrl();
  const shop = await stage.database.createDatabase('shop');
  return {
    ...stage.environmentOf(warehouse),
    SHOP_DATABASE_URL: shop,
    SHOP_TIME_ZONE: 'Asia/Seoul',
    // Reviews are measured; npm run bench:rescan measures orders.
    ORDER_RESCAN_DAYS: '0',
    LOG_LEVEL: 'error',
  };
}

/** Runs a command in a process of its own. @throws Error with what it said, if its exit status is not 0. */
async function cli(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runProcess(args, await environment());
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/**
 * Counts the rows that were filled in. `migrate` does so because the views do not have the time zone of the environment
 * yet.
 */
async function migrate(): Promise<void> {
  const { client: admin } = await connect(stage.database.url('postgres'));
  await admin.query(`drop database if exists ${measuredName}`);
  await admin.query(`create database ${measuredName} template filled_${size} strategy file_copy`);
  await admin.query('drop database if exists shop');
  const shop = await stage.database.createDatabase('shop');
  await loadSampleShop(shop, generateSampleShop({ seed: 1, now: new Date(), orders: 300, reviews: 2000 }));
  const url = await measuredUrl();
  const { client } = await connect(url);
  await timed('the command `migrate` after another time zone: counts what is there', () => cli('migrate'));
  await timed('the vacuum and analyze that follow', () => client.query('vacuum (analyze)'));
  await timed('the command `migrate` with nothing to do', () => cli('migrate'));
  await timed('a new column of `warehouse.reviews`, and of `sync.order_links`', () =>
    client.query(`
      alter table warehouse.reviews add column added text;
      alter table sync.order_links add column added boolean not null default false`),
  );
  await client.query('alter table warehouse.reviews drop column added; alter table sync.order_links drop column added');
}

async function questions(): Promise<void> {
  const asking = await connect(await measuredUrl());
  const { rows: views } = await asking.client.query(
    `select relname from pg_class where relnamespace = 'bi'::regnamespace order by oid`,
  );
  for (const { relname } of views) {
    await asked(`\`bi.${relname}\``, asking, cuts[relname] ?? `select * from bi.${relname}`);
  }
  for (const { file, question, sql } of await readQuestions()) {
    await asked(`${file.slice(0, 2)} ${question}`, asking, sql);
  }
}

/**
 * Lands 100,000 reviews that are newer than all others, and deletes them again. Three of five are about one of the
 * newest orders.
 */
async function landing(): Promise<void> {
  const url = await measuredUrl();
  const { client } = await connect(url);
  await withWarehouse(url, (db) => recount(db));
  const [withCounts, without] = [await stage.newWarehouse(), await stage.newWarehouse()];
  const { client: other } = await connect(without);
  await other.query(withoutCounts);
  const { rows } = await client.query('select max(id)::float8 as newest from warehouse.reviews');
  const firstId = rows[0].newest + 1;
  const firstOrder = Math.max(1, size * 0.6 - 100_000);
  const plan = { firstId, from: new Date(), stepSeconds, products, firstOrder };
  const places = [{ url: withCounts }, { url: without, isCounted: false }, { url }];
  const landed = await landInTurn(places, plan, 1000);
  const [empty, bare, full] = landed as [Landing, Landing, Landing];
  const ratio = (one: Landing, other: Landing) =>
    `${(other.seconds / one.seconds).toFixed(2)} by the clock, ` +
    `${(other.cpuSeconds / one.cpuSeconds).toFixed(2)} by processor time`;
  report('landing with the counts, to without, empty table', ratio(empty, bare));
  report('landing into this table, to an empty one', ratio(full, empty));
  await timed('count of these 100,000 reviews', () => withWarehouse(url, (db) => recount(db)));
  for (const [which, condition] of [
    ['newest', 'true order by created_at desc limit 100'],
    ['random', `id % ${Math.floor(size / 100)} = 7`],
  ]) {
    await client.query(`insert into sync.touches (record, dated_at, product_id, order_code)
      select 'review', created_at, product_id, order_code from warehouse.reviews where ${condition}`);
    await timed(`count of 100 ${which} reviews`, () => withWarehouse(url, (db) => recount(db)));
  }
  await client.query('delete from warehouse.reviews where id >= $1', [firstId]);
  await withWarehouse(url, recountAll);
  await client.query('vacuum warehouse.reviews, sync.touches');
}

async function commands(): Promise<void> {
  await cli('migrate');
  const { client } = await connect(await measuredUrl());
  // What an earlier run brought is deleted; the stub has another port each time. The state is as if a reconcile had
  // just read everything older.
  await client.query(`
    delete from warehouse.reviews where id <= ${recent.count};
    delete from sync.export_windows where run_id <> 'run-1';
    update sync.settings set service_address = null;
    insert into sync.runs (id, job, started_by, started_at, finished_at, outcome)
    values ('run-1', 'reconcile-reviews', 'schedule', now(), now(), 'done') on conflict do nothing;
    update sync.export_windows set started_at = now(), finished_at = now() where run_id = 'run-1'`);
  await withWarehouse(await measuredUrl(), recountAll);
  await client.query('vacuum (analyze)');
  await stage.hold(recent);
  const days = ['--from', recent.from.slice(0, 10)];
  report('reviews of these days', recent.count.toLocaleString('en'));
  await timed(`${recentDays} days read for the first time`, () => cli('backfill', 'reviews', ...days));
  await timed(`\`sync reconcile\` of ${recentDays} days`, () => cli('sync', 'reconcile'));
  await timed(`\`verify reviews\` of ${recentDays} days`, () => cli('verify', 'reviews', ...days));
  for (const command of ['status', 'doctor']) await timed(`\`${command}\``, () => cli(command), 3);
}

async function rebuild(): Promise<void> {
  const url = await measuredUrl();
  await timed('`migrate --rebuild`', () => withWarehouse(url, recountAll));
}

async function sizes(): Promise<void> {
  const { client } = await connect(await measuredUrl());
  const { rows } = await client.query(`
    select pg_size_pretty(pg_total_relation_size('warehouse.reviews')) as reviews,
      pg_size_pretty(sum(pg_total_relation_size(c.oid)) filter (where relname ~ '_counts$')) as counts,
      pg_size_pretty(pg_total_relation_size('warehouse.reviews_by_order')) as by_order,
      pg_size_pretty(pg_database_size(current_database())) as database
    from pg_class c where relnamespace = 'sync'::regnamespace and relkind = 'r'`);
  const [{ reviews, counts, by_order, database }] = rows;
  report(
    'size of `warehouse.reviews`; of the counts; of `reviews_by_order`; of the database',
    [reviews, counts, by_order, database].join('; '),
  );
}

const parts: Readonly<Record<string, () => Promise<void>>> = {
  migrate,
  questions,
  landing,
  commands,
  rebuild,
  sizes,
};
/** By size and part: the measurements in this folder. */
type Notes = Record<string, Record<string, Rows>>;
const notesFile = join(stage.database.directory, 'measured.json');
const notes: Notes = JSON.parse(await readFile(notesFile, 'utf8').catch(() => '{}'));
const measured = notes[size] ?? {};
notes[size] = measured;
if (given.keep === undefined && given.part !== undefined) throw new Error('--part needs --keep');
await fill();
for (const name of given.part?.split(',') ?? Object.keys(parts)) {
  const part = parts[name];
  if (!part) throw new Error(`--part is one of ${Object.keys(parts).join(', ')}, not ${name}`);
  rows = [];
  await part();
  measured[name] = rows;
  await writeFile(notesFile, JSON.stringify(notes));
}
const columns = Object.values(notes).map((byPart) => new Map(Object.keys(parts).flatMap((part) => byPart[part] ?? [])));
const labels = new Set(columns.flatMap((column) => [...column.keys()]));
const head = ['what', ...Object.keys(notes).map((reviews) => `${Number(reviews).toLocaleString('en')} reviews`)];
const lines = [...labels].map((what) => [what, ...columns.map((column) => column.get(what) ?? '')]);
await writeTable(
  given.keep === undefined ? undefined : 'bi',
  'npm run bench:bi -- --keep <folder>, then with --reviews 10000000',
  head,
  lines,
);
