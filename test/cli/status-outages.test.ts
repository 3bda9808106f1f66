import { expect, test } from 'vitest';
import { runCli } from '../harness/cli.ts';
import { openWorld } from '../harness/world.ts';

type Status = {
  flows: { flow: string; watermark: string | null }[];
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
