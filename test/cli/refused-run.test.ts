import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { openWorld } from '../harness/world.ts';

test('a run that a wrong shop query refuses is in status, with what to correct; one that sends nothing is not', async () => {
  await using world = await openWorld();
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-queries-'));
  for (const name of ['orders', 'order_lines']) await writeFile(join(folder, `${name}.sql`), 'select 1 as nonsense');
  const environment = { ...world.environment, SHOP_SQL_DIR: folder };
  const runs = async () => JSON.parse((await runCli(['status', '--json'], environment)).stdout).runs;

  expect((await runCli(['backfill', 'orders', '--dry-run'], environment)).status).toBe(2);
  expect(await runs()).toEqual([]);
  expect((await runCli(['sync', 'orders'], environment)).status).toBe(2);
  expect(await runs()).toMatchObject([
    { job: 'sync-orders', outcome: 'failed', error: expect.stringContaining('orders.sql') },
  ]);
});
