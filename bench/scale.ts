/**
 * What more worker processes bring: 1, 2 and 4 of them share a backfill over Redis and read a stub that takes 50 ms,
 * and one that takes 250 ms, for each request. Prints its table and puts it into docs/benchmark-tables.md.
 *
 *   npm run bench:scale
 *   npm run bench:scale -- --reviews 20000       only prints
 */
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { runCli, startCli } from '../test/harness/cli.ts';
import { startRedis } from '../test/harness/servers.ts';
import { openReviewStage } from './review-stage.ts';
import type { StubReviews } from './review-stub.ts';
import { writeTable } from './table.ts';

const { values: given } = parseArgs({ options: { reviews: { type: 'string', default: '300000' } } });
const most = Number(given.reviews);

type Measured = { perSecond: number; busy: number };

const stage = await openReviewStage();
const off = { SCHEDULE_ORDERS: '', SCHEDULE_CATALOG: '', SCHEDULE_REVIEWS: '', SCHEDULE_RECONCILE: '' };

/** Milliseconds that all cores together have been busy and idle since the machine's start. */
function coreTimes(): { busy: number; idle: number } {
  const times = cpus().map((core) => core.times);
  const sum = (of: (one: (typeof times)[number]) => number) => times.reduce((n, one) => n + of(one), 0);
  return { busy: sum(({ user, nice, sys, irq }) => user + nice + sys + irq), idle: sum(({ idle }) => idle) };
}

/** A backfill of what the stub holds by so many workers, which are up before it begins. */
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
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  opened.defer(() => client.end());
  const seconds = await untilEnded(client);
  const after = coreTimes();
  const { rows: counted } = await client.query('select count(*)::integer as n from warehouse.reviews');
  if (counted[0].n !== reviews.count) throw new Error(`${counted[0].n} of ${reviews.count} reviews came`);
  const [busy, idle] = [after.busy - before.busy, after.idle - before.idle];
  return { perSecond: reviews.count / seconds, busy: busy / (busy + idle) };
}

/** Seconds that the run took, as the warehouse has them. */
async function untilEnded(client: pg.Client): Promise<number> {
  for (;;) {
    const { rows } = await client.query<{ outcome: string; seconds: number }>(`
      select outcome, extract(epoch from finished_at - started_at)::float8 as seconds
      from sync.runs
      where finished_at is not null`);
    const [run] = rows;
    if (run && run.outcome !== 'done') throw new Error(`the run ended ${run.outcome}`);
    if (run) return run.seconds;
    await delay(100);
  }
}

const percent = (share: number) => `${Math.round(share * 100)} %`;
try {
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
} finally {
  await stage.close();
}
