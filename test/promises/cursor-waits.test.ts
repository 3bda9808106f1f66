import { expect, onTestFinished, test } from 'vitest';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { runCli } from '../harness/cli.ts';
import { startFaultProxy } from '../harness/proxy.ts';
import { openWorld } from '../harness/world.ts';

/** Reviews of a hundred days, in several windows. */
async function openReviews() {
  const world = await openWorld({ shop: 'empty' });
  onTestFinished(() => world[Symbol.asyncDispose]());
  const reviews = Array.from({ length: 20 }, (_, n) => {
    const at = new Date(Date.UTC(2024, 0, 5 + 5 * n));
    return { product_code: 'P', message: `Review ${n}`, created_at: at, updated_at: at };
  });
  await seedReviews(world.serviceDatabaseUrl, reviews);
  const gaps = () => world.warehouse('select * from sync.open_gaps');
  const count = async () => (await world.warehouse('select id from warehouse.reviews')).length;
  return { world, gaps, count };
}
const sync = ['sync', 'reviews', '--json'];

test('a window that the service refuses is an open gap behind the cursor, until a run has read it', async () => {
  const { world, gaps, count } = await openReviews();
  const proxy = await startFaultProxy(world.serviceUrl);
  onTestFinished(proxy.close);
  proxy.refuse((path) => /start_datetime=2024-0[34]/.test(path), 403);
  const refused = await runCli(sync, { ...world.environment, REVIEW_API_BASE_URL: proxy.url });
  expect(refused).toMatchObject({ status: 1 });
  expect(JSON.parse(refused.stdout)).toMatchObject({ outcome: 'incomplete', reason: 'steps-failed' });
  expect(await count()).toBeGreaterThan(0);
  expect(await gaps()).not.toEqual([]);
  expect(await runCli(sync, world.environment)).toMatchObject({ status: 0 });
  expect(await count()).toBe(20);
  expect(await gaps()).toEqual([]);
});

test('a window that the warehouse cannot store is an open gap behind the cursor, until a run has stored it', async () => {
  const { world, gaps, count } = await openReviews();
  await world.warehouse(`
    create function public.full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`);
  await world.warehouse(`
    create trigger full_disk before insert on warehouse.reviews
    for each row when (new.message = 'Review 7') execute function public.full_disk()`);
  const refused = await runCli(sync, world.environment);
  expect(refused).toMatchObject({ status: 1 });
  expect(refused.stdout + refused.stderr).toContain('could not extend file');
  expect(await gaps()).not.toEqual([]);
  expect(await world.warehouse('select kind from sync.dead_letters')).toEqual([]);
  await world.warehouse('drop trigger full_disk on warehouse.reviews');
  expect(await runCli(sync, world.environment)).toMatchObject({ status: 0 });
  expect(await count()).toBe(20);
  expect(await gaps()).toEqual([]);
});
