/**
 * How long the views of bi and the questions of docs/questions take, with the rights of bi_reader; what the counts behind them
 * cost when reviews land; and how long commands take on a large warehouse. Prints its table and puts it into
 * docs/benchmarks.md.
 *
 *   npm run bench:bi                             a million reviews, a million delivered sub-orders
 *   npm run bench:bi -- --reviews 10000000       takes 20 GB of disk
 */
import { readFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { ask, readQuestions } from '../docs/warehouse-page/questions.ts';
import { foldChanges, rebuildAggregates, wrongCounts } from '../src/warehouse/aggregates.ts';
import { prepareBi } from '../src/warehouse/bi.ts';
import { openWarehouse } from '../src/warehouse/index.ts';
import { migrateWarehouse } from '../src/warehouse/migrate.ts';
import { runCli } from '../test/harness/cli.ts';
import { cpuOf, type Landing, landInTurn } from './landing.ts';
import { openReviewStage } from './review-stage.ts';
import { writeTable } from './table.ts';

const { values: given } = parseArgs({ options: { reviews: { type: 'string', default: '1000000' } } });
const size = Number(given.reviews);
if (!Number.isInteger(size) || size < 1000)
  throw new Error(`--reviews must be a number above 1000, not ${given.reviews}`);
const products = 5000;
const beforeCounts = '0023_comments';
/** Takes the log out of a warehouse, and the indexes that serve the counts. */
const withoutCounts = `
  drop trigger review_changes_insert on warehouse.reviews;
  drop trigger review_changes_update on warehouse.reviews;
  drop trigger review_changes_delete on warehouse.reviews;
  drop index warehouse.reviews_by_order;
  drop index warehouse.reviews_by_product;
  create index reviews_by_product on warehouse.reviews (product_code, created_at)`;
const turns = [1, 2, 3];

/** What is asked of a view that has a row for each review or order: nobody reads it whole. */
const cuts: Readonly<Record<string, string>> = {
  reviews: `select product_code, count(*), avg(score) from bi.reviews
    where created_at >= '2025-06-01' and created_at < '2025-06-08' group by 1`,
  sub_orders: `select status, count(*) from bi.sub_orders
    where delivered_at >= '2025-06-01' and delivered_at < '2025-06-08' group by 1`,
  response_by_order: `select has_review, count(*), avg(days_from_delivery_to_review) from bi.response_by_order
    where ordered_at >= '2025-06-01' and ordered_at < '2025-06-08' group by 1`,
};

/** A connection, and its server process. */
type Asking = pg.Client & { pid: number };

const rows: string[][] = [];
function report(what: string, measured: string): void {
  rows.push([what, measured]);
  process.stdout.write(
    `${new Date().toISOString().slice(11, 19)} load ${loadavg()[0]?.toFixed(0)}  ${what}: ${measured}\n`,
  );
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (performance.now() - startedMs) / 1000;
}

const seconds = (n: number) => `${n.toFixed(n < 10 ? 2 : 0)} s`;
const timed = async (what: string, work: () => Promise<unknown>) => report(what, seconds(await secondsOf(work)));

/** The median of three by the clock, and the least processor time, which other work on the machine hardly changes. */
async function medianOf(client: Asking, run: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  let cpu = Number.POSITIVE_INFINITY;
  for (const _ of turns) {
    const before = await cpuOf([client.pid]);
    times.push(await secondsOf(run));
    cpu = Math.min(cpu, (await cpuOf([client.pid])) - before);
  }
  const ms = (n: number) => Math.round(1000 * n).toLocaleString('en');
  return `${ms(times.sort((a, b) => a - b)[1] ?? 0)} ms, processor ${ms(cpu)} ms`;
}

async function viewsOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query(
    `select relname from pg_class where relnamespace = 'bi'::regnamespace order by oid`,
  );
  return rows.map((row) => row.relname);
}

const stage = await openReviewStage();
try {
  const url = await stage.newWarehouse(beforeCounts);
  const client: Asking = Object.assign(new pg.Client({ connectionString: url }), { pid: 0 });
  await client.connect();
  client.pid = (await client.query('select pg_backend_pid() as pid')).rows[0].pid;
  // All the work of a question is in the process whose time is taken.
  await client.query('set max_parallel_workers_per_gather = 0');
  const fill = (await readFile(join(import.meta.dirname, 'bi.sql'), 'utf8'))
    .replaceAll('@reviews', String(size))
    .replaceAll('@products', String(products));
  await client.query(fill);
  await client.query('vacuum (analyze)');

  const warehouse = await openWarehouse({ url, connections: 1, silenceMs: 0 });
  await timed('migrate: the counts of what is there, and their indexes', () => migrateWarehouse(warehouse.db));
  await prepareBi(warehouse, { timeZone: 'Asia/Seoul' });
  await client.query('vacuum (analyze)');
  for (const view of await viewsOf(client)) {
    report(`\`bi.${view}\``, await medianOf(client, () => ask(client, cuts[view] ?? `select * from bi.${view}`)));
  }
  for (const { file, question, sql } of await readQuestions()) {
    report(`${file.slice(0, 2)} ${question}`, await medianOf(client, () => ask(client, sql)));
  }
  await timed('migrate of a new column', () => client.query('alter table warehouse.reviews add column added text'));
  await timed('verify: the counts compared with the rows', async () => {
    const wrong = await wrongCounts(warehouse.db);
    if (wrong.length > 0) throw new Error(`wrong counts: ${JSON.stringify(wrong)}`);
  });
  await timed('migrate --rebuild', () => rebuildAggregates(warehouse.db));

  const [withCounts, without] = [await stage.newWarehouse(), await stage.newWarehouse()];
  const other = new pg.Client({ connectionString: without });
  await other.connect();
  await other.query(withoutCounts);
  await other.end();
  const plan = { firstId: 1, from: new Date('2025-12-20T00:00:00Z'), stepSeconds: 120, products };
  const landed = await landInTurn([withCounts, without, url], plan, 1000);
  const [empty, bare, full] = landed as [Landing, Landing, Landing];
  const ratio = (one: Landing, other: Landing) =>
    `${(other.seconds / one.seconds).toFixed(2)} by the clock, ${(other.cpuSeconds / one.cpuSeconds).toFixed(2)} by processor time`;
  report('landing with the counts, to without, empty table', ratio(empty, bare));
  report('landing into this table, to an empty one', ratio(full, empty));
  report(
    'views of bi with 100,000 reviews not folded yet: reviews_by_day',
    await medianOf(client, () => ask(client, 'select * from bi.reviews_by_day')),
  );
  report(
    'the same: reviews_per_delivered_sub_order',
    await medianOf(client, () => ask(client, 'select * from bi.reviews_per_delivered_sub_order')),
  );
  await timed('fold of 100,000 reviews', () => foldChanges(warehouse.db));

  const environment = stage.environmentOf(url);
  const command = async (what: string, args: string[]) =>
    timed(what, async () => {
      const { status, stderr } = await runCli(args, environment);
      if (status !== 0 && args[0] === 'backfill') throw new Error(stderr);
    });
  await command('`status`, with the start of the program', ['status']);
  await command('`doctor`, with the start of the program', ['doctor']);
  const perDay = Math.round(size / 1460);
  await stage.hold({ count: 45 * perDay, stepSeconds: Math.floor(86_400 / perDay), latencyMs: 0 });
  const days = ['backfill', 'reviews', '--from', '2020-01-01', '--to', '2020-02-14'];
  await command(`45 days read for the first time (${(45 * perDay).toLocaleString('en')} reviews)`, days);
  await command('the same 45 days read again, as a reconcile does', days);
  const { rows: sizes } = await client.query(`
    select pg_size_pretty(pg_total_relation_size('warehouse.reviews')) as reviews,
      pg_size_pretty(sum(pg_total_relation_size(c.oid)) filter (where relname ~ '^(review_(day|product)_counts|counted_deliveries|delivery_(counts|delays))$')) as counts,
      pg_size_pretty(pg_total_relation_size('warehouse.reviews_by_order')) as by_order
    from pg_class c where relnamespace = 'sync'::regnamespace and relkind = 'r'`);
  report(
    'size of warehouse.reviews; of the counts; of reviews_by_order',
    `${sizes[0].reviews}; ${sizes[0].counts}; ${sizes[0].by_order}`,
  );
  await warehouse.close();
  await client.end();
  const name = size === 1_000_000 ? 'bi' : `bi-${size}`;
  await writeTable(name, `npm run bench:bi -- --reviews ${size}`, ['what', 'measured'], rows);
} finally {
  await stage.close();
}
