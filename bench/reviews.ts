/**
 * How fast reviews are exported, compared with loops that do less, in the same run against the same stub and the same
 * Postgres. Also what a second run costs, requests, memory, and the time to the first row. Prints its tables and puts
 * them into docs/benchmark-tables.md.
 *
 *   npm run bench:reviews                   100,000 reviews
 *   npm run bench:reviews -- --memory       and 1,000,000 for memory
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { query } from '../test/harness/database.ts';
import type { StubReport, StubReviews } from './review-stub.ts';
import { connect, main, openReviewStage, runExport, runMeasured } from './stage.ts';
import { writeTable } from './table.ts';

await using opened = new AsyncDisposableStack();
const stage = await openReviewStage(opened);
const { origin, hold, newWarehouse } = stage;
const environmentOf = (warehouseUrl: string) => ({ ...process.env, ...stage.environmentOf(warehouseUrl) });

type Ours = StubReport & { seconds: number; maxRssMb: number };

async function ours(warehouseUrl: string, reviews: StubReviews): Promise<Ours> {
  await hold(reviews);
  return { ...(await runExport(stage.environmentOf(warehouseUrl))), ...(await hold(reviews)) };
}

async function loop(mode: 'ceiling' | 'ahead' | 'simple' | 'careful', reviews: StubReviews): Promise<number> {
  await hold(reviews);
  const file = join(import.meta.dirname, 'export-loops.ts');
  const { count, stepSeconds } = reviews;
  const args = [file, mode, origin, await newWarehouse(), String(count), String(stepSeconds)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return (JSON.parse(stdout) as { seconds: number }).seconds;
}

async function rowsUpdated(warehouseUrl: string): Promise<number> {
  const sql = `select n_tup_upd::integer as n from pg_stat_user_tables where relname = 'reviews'`;
  const [row] = await query<{ n: number }>(warehouseUrl, sql);
  return row?.n ?? Number.NaN;
}

/** Seconds from the start of the command to its first committed row. */
async function firstRow(reviews: StubReviews): Promise<number> {
  await hold(reviews);
  const url = await newWarehouse();
  const client = await connect(opened, url);
  const startedMs = performance.now();
  const command = spawn(process.execPath, [main, 'backfill', 'reviews'], { env: environmentOf(url), stdio: 'ignore' });
  const ended = once(command, 'close');
  for (;;) {
    const { rows } = await client.query('select from warehouse.reviews limit 1');
    if (rows.length > 0) break;
    // If it asked without a pause, Postgres would have less time for the command.
    await setTimeout(5);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  await ended;
  return seconds;
}

/** Requests in flight over time, a sign for each 250 ms: ▁ is 1, █ is 8. */
const drawn = (inFlight: readonly number[]) =>
  inFlight.map((n) => (n < 0.5 ? '·' : '▁▂▃▄▅▆▇█'[Math.min(7, Math.round(n) - 1)])).join('');

const rate = (reviews: number, seconds: number) => Math.round(reviews / seconds).toLocaleString('en');
const held = { count: 100_000, stepSeconds: 600, latencyMs: 0 };
const pages = held.count / 100;
const rows: string[][] = [];
const facts: string[][] = [];
for (const turn of [1, 2, 3]) {
  const url = await newWarehouse();
  const first = await ours(url, held);
  const second = await ours(url, held);
  const ceiling = await loop('ceiling', held);
  rows.push([
    ...[`${turn}`, rate(held.count, first.seconds), rate(held.count, ceiling), (ceiling / first.seconds).toFixed(2)],
    ...[rate(held.count, second.seconds), (first.seconds / second.seconds).toFixed(2)],
    ...[String(await rowsUpdated(url)), (first.requests / pages).toFixed(3), Math.round(first.maxRssMb).toString()],
  ]);
}
const first = await ours(await newWarehouse(), held);
for (const mode of ['simple', 'careful'] as const) {
  const seconds = await loop(mode, held);
  const what = { simple: 'a page at a time, a row at a time', careful: 'p-limit 8, 100 rows an INSERT' }[mode];
  facts.push([what, `${(seconds / first.seconds).toFixed(1)} times as fast`, '']);
}
const slow = { count: 200_000, stepSeconds: 600, latencyMs: 50 };
const slowly = '50 ms a request, 8 in flight';
const waiting = await ours(await newWarehouse(), slow);
facts.push([`${slowly}: requests in flight, a sign a quarter of a second`, drawn(waiting.inFlight), '']);
const least = ((slow.count / 100) * 0.05) / 8;
const ahead = await loop('ahead', slow);
facts.push([slowly, `${(ahead / waiting.seconds).toFixed(2)} of the ceiling, which knows all pages`, '0.90']);
facts.push([slowly, `${(least / waiting.seconds).toFixed(2)} of pages × latency ÷ 8`, '0.90']);
facts.push([`${slowly}: the ceiling`, `${(least / ahead).toFixed(2)} of pages × latency ÷ 8`, '']);
facts.push(['first row, from the start of the command', `${(await firstRow(held)).toFixed(2)} s`, '1 s']);
for (const count of process.argv.includes('--memory') ? [100_000, 1_000_000] : []) {
  const reviews = { count, stepSeconds: 120, latencyMs: 0 };
  await hold(reviews);
  const { maxRssMb } = await runMeasured([main, 'backfill', 'reviews'], environmentOf(await newWarehouse()));
  const label = `${count.toLocaleString('en')} reviews:`;
  facts.push([`${label} peak memory of the command`, `${Math.round(maxRssMb)} MB`, '200 MB']);
  facts.push([`${label} requests a page`, ((await hold(reviews)).requests / (count / 100)).toFixed(3), '1.08']);
}
const head = [
  'turn',
  'reviews/s',
  'ceiling',
  'ratio',
  'second run',
  'to the first',
  'rows rewritten',
  'requests/page',
  'MB',
];
await writeTable('reviews', 'npm run bench:reviews -- --memory', head, rows);
await writeTable('reviews-more', 'npm run bench:reviews -- --memory', ['export', 'measured', 'goal'], facts);
