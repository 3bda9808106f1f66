import { expect, test } from 'vitest';
import { runCli, startHere } from '../harness/cli.ts';
import { openWorld, until } from '../harness/world.ts';

test('a run that waits for a failing service says so in status, and later in the log', async () => {
  await using world = await openWorld({ shop: 'empty' });
  world.service.setFaults({ failRate: 1 });
  const command = startHere(['sync', 'reviews'], { ...world.environment, LOG_LEVEL: 'warn' });
  await command.says('waiting to retry');
  await until(async () => (await world.cli('status')).stdout.includes('waits until'));
  expect((await world.cli('status')).stdout).toMatch(
    /sync-reviews .* running +waits until [\d:]{8}: waiting to retry \w+ \S+: /,
  );
  await command.says('"level":40');
  world.service.setFaults({ failRate: 0 });
  command.kill('SIGINT');
  await command.ended;
});

test('status works while shop and service are down, and says which run failed', async () => {
  await using world = await openWorld();
  expect(await world.cli('sync', 'reviews')).toMatchObject({ status: 0 });
  const down = {
    ...world.environment,
    SHOP_DATABASE_URL: 'postgres://u:p@127.0.0.1:1/shop',
    REVIEW_API_BASE_URL: 'http://127.0.0.1:1',
  };
  expect(await runCli(['sync', 'orders'], down)).toMatchObject({ status: 1 });
  const { status, stdout } = await runCli(['status', '--json'], down);
  const report = JSON.parse(stdout);
  expect(status).toBe(0);
  expect(report.flows).toContainEqual(expect.objectContaining({ flow: 'reviews', watermark: expect.any(String) }));
  const what = expect.stringMatching(/^the last sync-orders failed: .*ECONNREFUSED/);
  expect(report.issues).toContainEqual(expect.objectContaining({ key: 'failed sync-orders', what }));
});
