import { test } from 'vitest';
import { startHere, until } from '../harness/cli.ts';
import { openWorld } from '../harness/world.ts';

test('a run that waits for a failing service says so in status, and later in the log', async () => {
  await using world = await openWorld({ shop: 'empty' });
  world.service.setFaults({ failRate: 1 });
  const command = startHere(['sync', 'reviews'], { ...world.environment, LOG_LEVEL: 'warn' });
  await command.says('waiting to retry');
  const waits = /sync-reviews .* running +waits until [\d:]{8}: waiting to retry \w+ \S+: /;
  await until(async () => waits.test((await world.cli('status')).stdout));
  await command.says('"level":40');
  world.service.setFaults({ failRate: 0 });
  command.kill('SIGINT');
  await command.ended;
});
