/**
 * What more worker processes bring: 1, 2 and 4 of them share a backfill over Redis and read a stub that takes 50 ms,
 * and one that takes 250 ms, for each request. Prints its table and puts it into docs/benchmark-tables.md.
 *
 *   npm run bench:scale
 *   npm run bench:scale -- --reviews 20000       only prints
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { runCli, startCli, until } from '../test/harness/cli.ts';
import { query } from '../test/harness/database.ts';
import { startRedis } from '../test/harness/servers.ts';
import type { StubReviews } from './review-stub.ts';
import { openReviewStage, secondsOfRun } from './stage.ts';
import { writeTable } from './table.ts';

const { values: given } = parseArgs({ options: { reviews: { type: 'string', default: '300000' } } });
const most = Number(given.reviews);

type Measured = { perSecond: number; busy: number };

await using all = new AsyncDisposableStack();
const stage = await openReviewStage(all);
const off = { SCHEDULE_ORDERS: '', SCHEDULE_CATALOG: '', SCHEDULE_REVIEWS: '', SCHEDULE_RECONCILE: '' };

/** Milliseconds that all cores together have been busy and idle since the machine's start. */
function coreTimes(): { busy: number; idle: number } {
  const times = cpus().map((core) => core.times);
  const sum = (of: (one: (typeof times)[number]) => number) => times.reduce((n, one) => n + of(one), 0);
  return { busy: sum(({ user, nice, sys, irq }) => user + nice + sys + irq), idle: sum(({ idle }) => idle) };
}

/** A backfill of all that the stub holds, by so many workers. The workers are up before it begins. */
async function share(workers: number, reviews: StubReviews): Promise<Measured> {
  await using opened = new AsyncDisposableStack();
  await stage.hold(reviews);
  const redis = await startRedis();
  opened.defer(() => redis.close());
  const url = await stage.newWarehouse();
  const given = { ...stage.environmentOf(url), ...off, QUEUE_URL: redis.url, LOG_LEVEL: 'info' };
  const running = Array.from({ length: workers }, () => startCli(['worker'], given));
  opened.defer(async () => {
    for (const worker of running) worker.kill('SIGTERM');
    await Promise.all(running.map((worker) => worker.ended));
  });
  await Promise.all(running.map((worker) => worker.says('worker ready')));
  const before = coreTimes();
  const enqueued = await runCli(['backfill', 'reviews', '--detach'], given);
  if (enqueued.status !== 0) throw new Error(enqueued.stderr);
  const seconds = await until(() => secondsOfRun(url), 3600);
  const after = coreTimes();
  const [counted] = await query(url, 'select count(*)::integer as n from warehouse.reviews');
  if (counted?.n !== reviews.count) throw new Error(`${counted?.n} of ${reviews.count} reviews came`);
  const [busy, idle] = [after.busy - before.busy, after.idle - before.idle];
  return { perSecond: reviews.count / seconds, busy: busy / (busy + idle) };
}

const percent = (share: number) => `${Math.round(share * 100)} %`;
const rows: string[][] = [];
for (const held of [
  { count: most, stepSeconds: 600, latencyMs: 50 },
  { count: Math.round(most * 0.53), stepSeconds: 600, latencyMs: 250 },
]) {
  let one = 0;
  for (const workers of [1, 2, 4]) {
    const { perSecond, busy } = await share(workers, held);
    one ||= perSecond;
    rows.push([
      ...[`${held.latencyMs} ms`, String(workers), Math.round(perSecond).toLocaleString('en')],
      ...[(perSecond / one).toFixed(2), percent(busy)],
    ]);
  }
}
const head = ['a request takes', 'workers', 'reviews/s', 'to one worker', 'cores busy'];
await writeTable(most === 300_000 ? 'scale' : undefined, 'npm run bench:scale', head, rows);
