import { expect, test } from 'vitest';
import { startCli } from '../harness/cli.ts';
import { type Fate, startRuleProxy } from '../harness/proxy.ts';
import { openWorld } from '../harness/world.ts';

test('a backfill has as many requests in flight as allowed, although each window is read by one request after the other', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const proxy = await world.through(startRuleProxy);
  const isPage = (limit: string | null) => limit === '100';
  const eight = Promise.withResolvers<void>();
  let inFlight = 0;
  proxy.use(async ({ form }): Promise<Fate> => {
    if (!isPage(form.get('limit'))) return 'pass';
    inFlight += 1;
    if (inFlight === 8) eight.resolve();
    await eight.promise;
    return 'pass';
  });

  const backfill = startCli(['backfill', 'reviews', '--from', '2024-01-01', '--to', '2024-12-31'], world.environment);

  await eight.promise;
  const { status, stderr } = await backfill.ended;
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const pages = proxy.requests.filter(({ form }) => isPage(form.get('limit')));
  expect(new Set(pages.map(({ form }) => form.get('start_datetime'))).size).toBeGreaterThanOrEqual(8);
});
