import { expect } from 'vitest';
import { runCli, startHere, until } from '../harness/cli.ts';
import { temporaryFolder } from '../harness/folder.ts';
import { openWorld, syncHourly, worldTest as test } from '../harness/world.ts';

test('a run that waits for a failing service says so in status, and later in the log', async ({ world }) => {
  world.service.setFaults({ failRate: 1 });
  const command = startHere(['sync', 'reviews'], { ...world.environment, LOG_LEVEL: 'warn' });
  await command.says('is sent again');
  const waits = /sync-reviews .* running +waits until [\d:]{8}: \w+ \S+ is sent again: /;
  const progress = /^sync-reviews: For .*; waits until [\d:]{8}: \w+ \S+ is sent again: .*; it is being planned\.$/m;
  await until(async () => {
    const { stdout } = await world.cli('status');
    return waits.test(stdout) && progress.test(stdout);
  });
  await command.says('"level":40');
  world.service.setFaults({ failRate: 0 });
  command.kill('SIGINT');
  await command.ended;
});

test('what reads only the warehouse needs its address and no other', async () => {
  await using world = await openWorld();
  await syncHourly(world, 20);
  const folder = await temporaryFolder();
  const cli = (...args: string[]) => runCli(args, { WAREHOUSE_DATABASE_URL: world.warehouseUrl });
  const before = await world.warehouse('select time_zone from sync.settings');
  expect(await cli('migrate', '--rebuild')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Reviews and/) });
  expect(await world.warehouse('select time_zone from sync.settings')).toEqual(before);
  expect(await cli('export', 'parquet', '--to', folder)).toMatchObject({ status: 0 });
  for (const command of ['runs', 'dead-letters']) expect(await cli(command)).toMatchObject({ status: 0, stderr: '' });
  expect(await cli('dead-letters', 'discard', '7')).toMatchObject({ stderr: expect.stringContaining('dead letter 7') });
  const { status, stdout } = await cli('status');
  expect([status, stdout]).toEqual([0, expect.stringContaining('sync-reviews')]);
  expect(stdout).toContain('Shop or service is not configured here: queue, schedules and holds are not shown.');
  expect(await cli('migrate')).toMatchObject({ status: 2 });
});
