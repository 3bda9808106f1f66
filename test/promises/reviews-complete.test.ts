import { expect } from 'vitest';
import { type SeedReview, seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { type Fate, startRuleProxy } from '../harness/proxy.ts';
import { reviewAt, type World, worldTest } from '../harness/world.ts';

const test = worldTest.extend('worldOptions', { shop: 'empty' });

/** One review every `seconds`, the first at `from`. */
function reviews(count: number, seconds: number, from = '2026-03-01T00:00:00+09:00'): SeedReview[] {
  return Array.from({ length: count }, (_, index) => {
    const more = { product_code: `P${index % 20}`, score: 1 + (index % 5) };
    return reviewAt(Date.parse(from) + index * seconds * 1000 + (index % 1000), more);
  });
}

const ids = async (world: World) => ({
  service: await world.atService('select id from reference_service.reviews order by id'),
  warehouse: await world.warehouse('select id from warehouse.reviews order by id'),
});

test('a backfill of a day, and verify --repair of it, bring in that day and no other', async ({ world }) => {
  const times = ['01T23:59:59.999', '02T00:00:00.000', '02T23:59:59.999', '03T00:00:00.000', '03T00:00:00.700'];
  await seedReviews(
    world.serviceDatabaseUrl,
    times.map((time) => reviewAt(Date.parse(`2026-03-${time}+09:00`), { message: time })),
  );
  for (const command of ['backfill reviews', 'verify reviews --repair']) {
    await world.warehouse('delete from warehouse.reviews');
    await world.cli(command, '--from', '2026-03-02', '--to', '2026-03-02');
    expect(await world.warehouse('select message from warehouse.reviews order by created_at')).toEqual(
      times.slice(1, 3).map((message) => ({ message })),
    );
  }
  await world.cli('backfill reviews');
  expect((await ids(world)).warehouse).toHaveLength(times.length);
});

test('a dry run says windows and requests; --gaps reads only what is lacking', async ({ world }) => {
  await seedReviews(world.serviceDatabaseUrl, reviews(200, 86_400 / 2));
  const dry = await world.cli('backfill reviews --dry-run --json');
  const plan = JSON.parse(dry.stdout) as { windows: unknown[]; requests: number };
  expect(plan.windows).toHaveLength(3);
  const planned = async (...more: string[]) => await world.prints('backfill reviews --dry-run', ...more);
  const some = ['--from', '2026-03-01', '--to', '2026-04-30'];
  const both = /^2 windows, about \d+ requests:\n {2}2026-03-01 … .*\n {2}.* … 2026-04-30\nNothing was written\.\n$/;
  expect(await planned(...some)).toMatch(both);
  expect(await world.warehouse('select id from sync.export_windows')).toEqual([]);
  const before = world.service.requests()['GET /v1/reviews'] ?? 0;
  await world.cli('backfill reviews', ...some);
  await world.cli('backfill reviews --gaps');
  expect((await ids(world)).warehouse).toEqual((await ids(world)).service);
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
