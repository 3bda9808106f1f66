import { expect, onTestFinished, test } from 'vitest';
import { seedReviews } from '../../src/reference-service/seed.ts';
import { runCli, startCli } from '../harness/cli.ts';
import { openWorld } from '../harness/world.ts';

type Report = { counts: Record<string, number>; parts: { worker: string; counts: Record<string, number> }[] };

test('a backfill shared with a worker tells what each did, and once more when it is begun again', async () => {
  const off = { SCHEDULE_ORDERS: '', SCHEDULE_CATALOG: '', SCHEDULE_REVIEWS: '', SCHEDULE_RECONCILE: '' };
  await using world = await openWorld({
    shop: 'empty',
    service: { latencyMs: 100 },
    environment: { ...off, REVIEW_API_CONCURRENCY: '1', LOG_LEVEL: 'info' },
  });
  const reviews = Array.from({ length: 25 }, (_, n) => {
    const at = new Date(Date.now() - (n + 1) * 40 * 86_400_000);
    return { product_code: 'P', message: `Review ${n}`, created_at: at, updated_at: at };
  });
  await seedReviews(world.serviceDatabaseUrl, reviews);
  const worker = startCli(['worker'], world.environment);
  onTestFinished(() => worker.kill('SIGKILL'));
  await worker.says('worker ready');

  const told = await runCli(['backfill', 'reviews'], world.environment);
  expect(told).toMatchObject({ status: 0 });
  expect(told.stdout.match(/^ {2}\S+:\d+: \d+ steps?, \d+ reviews?$/gm)).toHaveLength(2);
  expect(told.stdout).toContain(`:${worker.pid}: `);

  const { stdout } = await runCli(['backfill', 'reviews', '--json'], world.environment);
  const { counts, parts } = JSON.parse(stdout) as Report;
  // The command of before is no longer told: its part was of the run that ended.
  expect(parts).toHaveLength(2);
  expect(parts.reduce((sum, part) => sum + (part.counts.reviews ?? 0), 0)).toBe(counts.reviews);
  expect(parts.some((part) => part.worker.endsWith(`:${worker.pid}`))).toBe(true);
});
