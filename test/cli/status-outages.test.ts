import { expect, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { openWorld } from '../harness/world.ts';

type Status = {
  queue: { error?: string };
  flows: { flow: string; watermark: string | null }[];
  newest: { job: string; outcome: string }[];
  issues: { key: string; what: string }[];
};

test('status works while shop and service are down, and says which run could not reach them', async () => {
  await using world = await openWorld();
  expect(await world.cli('sync', 'reviews')).toMatchObject({ status: 0 });
  const down = {
    ...world.environment,
    SHOP_DATABASE_URL: 'postgres://u:p@127.0.0.1:1/shop',
    REVIEW_API_BASE_URL: 'http://127.0.0.1:1',
  };
  expect(await runCli(['sync', 'orders'], down)).toMatchObject({ status: 1 });
  const { status, stdout } = await runCli(['status', '--json'], down);
  const report = JSON.parse(stdout) as Status;
  expect(status).toBe(0);
  expect(report.flows.find(({ flow }) => flow === 'reviews')?.watermark).not.toBeNull();
  expect(report.issues).toContainEqual(
    expect.objectContaining({
      key: 'failed sync-orders',
      what: expect.stringMatching(/^the last sync-orders failed: .*ECONNREFUSED/),
    }),
  );
});

test('status works while the queue is down: it says so, shows everything else and exits with 1', async () => {
  await using world = await openWorld();
  expect(await world.cli('sync', 'reviews')).toMatchObject({ status: 0 });
  const down = { ...world.environment, QUEUE_URL: 'redis://127.0.0.1:1' };
  const { status, stdout } = await runCli(['status', '--json'], down);
  const report = JSON.parse(stdout) as Status;
  expect(status).toBe(1);
  expect(report.queue.error).toMatch(/QUEUE_URL.*cannot be reached/);
  expect(report.newest).toContainEqual(expect.objectContaining({ job: 'sync-reviews', outcome: 'done' }));
  expect(report.issues).toContainEqual(expect.objectContaining({ key: 'queue' }));
  const text = await runCli(['status'], { ...down, QUEUE_URL: 'rediss://127.0.0.1:1' });
  expect(text.stdout).toMatch(
    /^Issues:\n {2}the queue cannot be read: .*\n {4}→ start its server.*Queue \(redis\): none.*sync-reviews/s,
  );
});
