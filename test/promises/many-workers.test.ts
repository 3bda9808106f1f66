import { expect, onTestFinished } from 'vitest';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { addressOf, type RunningCli, runCli, startCli } from '../harness/cli.ts';
import { redisTest } from '../harness/each-queue.ts';
import { reviewAt } from '../harness/hourly-reviews.ts';
import { type FaultProxy, startFaultProxy } from '../harness/proxy.ts';
import { startRedis } from '../harness/redis.ts';
import { noSchedules, openWorld, until, type World } from '../harness/world.ts';

/**
 * At least two requests a window of 44 days, a hundred windows: at the ceiling a quarter of a minute of work. A killed
 * worker's steps are taken over before, so that the others are at work meanwhile.
 */
const ceiling = 14;
const reviews = 2000;
const daysBetween = 2.2;

/** A service with years of reviews behind a proxy that counts, and a Redis for the queue. */
async function openShared(): Promise<{ world: World; proxy: FaultProxy; environment: Record<string, string> }> {
  const redis = await startRedis();
  onTestFinished(redis.close);
  const world = await openWorld({ shop: 'empty', service: { latencyMs: 50 } });
  onTestFinished(() => world[Symbol.asyncDispose]());
  const proxy = await world.through(startFaultProxy);
  const ago = (n: number) => Date.now() - n * daysBetween * 86_400_000;
  const all = Array.from({ length: reviews }, (_, n) => reviewAt(ago(reviews - n), { product_code: `P${n % 20}` }));
  await seedReviews(world.serviceDatabaseUrl, all);
  const environment = {
    ...world.environment,
    ...noSchedules,
    LOG_LEVEL: 'info',
    TAKE_OVER_SECONDS: '8',
    QUEUE_URL: redis.url,
    REVIEW_YEARS_FROM: '2000',
    REVIEW_API_REQUESTS_PER_SECOND: String(ceiling),
  };
  return { world, proxy, environment };
}

/** The most calls that came within so many seconds, wherever these begin. */
function mostWithin(seconds: number, cameAtMs: readonly number[]): number {
  const following = cameAtMs.map((fromMs) => cameAtMs.filter((ms) => ms >= fromMs && ms < fromMs + seconds * 1000));
  return Math.max(...following.map((calls) => calls.length));
}

type Ended = { outcome: string | null; counts: Record<string, number> };

function untilEnded(world: World, runId: string): Promise<Ended> {
  return until(async () => {
    const [run] = await world.warehouse<Ended>('select outcome, counts from sync.runs where id = $1', [runId]);
    return run?.outcome ? run : undefined;
  }, 60);
}

/** Windows that this worker has read, from its own /metrics. */
async function windowsOf(worker: RunningCli): Promise<number> {
  const text = await (await fetch(`${await addressOf(worker)}/metrics`)).text();
  return Number(
    /review_sync_step_duration_seconds_count\{step="read-window",outcome="done"\} (\d+)/.exec(text)?.[1] ?? 0,
  );
}

const startWorker = (environment: Record<string, string>) =>
  startCli(['worker'], { ...environment, METRICS_PORT: '0' });

redisTest(
  'three workers share a backfill, one is killed, one joins: each reads windows, no review is missing, the ceiling holds',
  async () => {
    const { world, proxy, environment } = await openShared();
    const first = [1, 2, 3].map(() => startWorker(environment));
    await Promise.all(first.map((worker) => worker.says('worker ready')));
    const enqueued = await runCli(['backfill', 'reviews', '--detach', '--json'], environment);
    const { run: id } = JSON.parse(enqueued.stdout) as { run: string };
    await until(async () => (await Promise.all(first.map(windowsOf))).every((windows) => windows > 0));
    first[0]?.kill('SIGKILL');
    const joined = startWorker(environment);
    // Where a program takes half a minute to start, the others would have read all windows by then.
    const isReady = joined.says('worker ready');
    proxy.holdUntil(isReady);
    await isReady;
    await until(async () => (await windowsOf(joined)) > 0);
    const { runs } = JSON.parse((await runCli(['status', '--json'], environment)).stdout);
    expect(runs[0]).toMatchObject({ id, outcome: null });

    const { outcome } = await untilEnded(world, id);
    expect(outcome).toBe('done');
    const left = [...first.slice(1), joined];
    expect(left.map((worker) => worker.saidSoFar()).join('')).toContain('taking over a job of a worker that is gone');
    const ids = 'select id from %s order by id';
    expect(await world.warehouse(ids.replace('%s', 'warehouse.reviews'))).toEqual(
      await world.atService(ids.replace('%s', 'reference_service.reviews')),
    );

    // A second anywhere may touch two of the store's, ten may touch eleven. Ceilings of their own would be far above.
    expect(mostWithin(1, proxy.cameAtMs)).toBeLessThanOrEqual(2 * ceiling);
    expect(mostWithin(10, proxy.cameAtMs)).toBeLessThanOrEqual(11 * ceiling);
    for (const worker of left) worker.kill('SIGTERM');
    expect((await Promise.all(left.map((worker) => worker.ended))).map((end) => end.status)).toEqual([0, 0, 0]);
  },
);
