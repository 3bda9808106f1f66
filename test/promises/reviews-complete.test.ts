import { expect } from 'vitest';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { type Fate, startRuleProxy } from '../harness/proxy.ts';
import { hourMs, reviewAt, worldTest } from '../harness/world.ts';

const test = worldTest.extend('worldOptions', { shop: 'empty' });

test('a dry run says windows and requests; --gaps reads only what is lacking', async ({ world }) => {
  // Two a day, from the first moment of March on, and one in the last moment of April.
  const first = Date.parse('2026-03-01T00:00:00+09:00');
  const reviews = Array.from({ length: 200 }, (_, n) => reviewAt(first + (n * 24 * hourMs) / 2 + n));
  await seedReviews(world.serviceDatabaseUrl, [...reviews, reviewAt(Date.parse('2026-04-30T23:59:59.999+09:00'))]);
  const held = async () => (await world.warehouse('select from warehouse.reviews')).length;
  const plan = await world.json('backfill reviews --dry-run');
  expect(plan.windows).toHaveLength(3);
  const planned = async (...more: string[]) => await world.prints('backfill reviews --dry-run', ...more);
  const some = ['--from', '2026-03-01', '--to', '2026-04-30'];
  const both = /^2 windows, about \d+ requests:\n {2}2026-03-01 … .*\n {2}.* … 2026-04-30\nNothing was written\.\n$/;
  expect(await planned(...some)).toMatch(both);
  expect(await world.warehouse('select id from sync.export_windows')).toEqual([]);
  const before = world.service.requests()['GET /v1/reviews'] ?? 0;
  await world.cli('backfill reviews', ...some);
  expect(await held()).toBe(2 * 61 + 1);
  await world.cli('backfill reviews --gaps');
  expect(await held()).toBe(201);
  const overlap = await world.warehouse(`
    select a.id from sync.export_windows a join sync.export_windows b on a.id < b.id
      and tstzrange(a.start_at, a.end_at) && tstzrange(b.start_at, b.end_at)`);
  expect(overlap).toEqual([]);
  // A page that no other page exceeds may be full: the one behind it is asked for, and then it is asked for again.
  expect((world.service.requests()['GET /v1/reviews'] ?? 0) - before).toBeLessThanOrEqual(3 * plan.requests + 5);
  // Without --gaps, days that were read are read again.
  expect(await planned(...some)).toMatch(both);
  await world.warehouse(`delete from sync.export_windows where start_at >= '2026-05-01T00:00:00+09:00'`);
  expect(await planned('--gaps')).toMatch(/^1 window, .*:\n {2}2026-05-01 … 2026-06-09\n/);
});

test('a backfill has as many requests in flight as allowed, each for another window', async ({ world }) => {
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
  const end = await world.cli('backfill reviews --from 2024-01-01 --to 2024-12-31');
  expect(end).toMatchObject({ status: 0 });
  const pages = proxy.requests.filter(({ form }) => isPage(form.get('limit')));
  expect(new Set(pages.map(({ form }) => form.get('start_datetime'))).size).toBeGreaterThanOrEqual(8);
});
