import { expect, test } from 'vitest';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { startChangingProxy } from '../harness/changing-proxy.ts';
import { runCli } from '../harness/cli.ts';
import { hourlyReviews, hourMs } from '../harness/hourly-reviews.ts';
import { openWorld, type World } from '../harness/world.ts';

const day = 24 * hourMs;

/** One review an hour, the newest an hour old, at a service whose `Date` header is off by `offMs`. */
async function worldWithClock(count: number, newestAgoMs = hourMs) {
  const world = await openWorld({ shop: 'empty' });
  await seedReviews(world.serviceDatabaseUrl, hourlyReviews(count, newestAgoMs));
  const clock = { offMs: 0 };
  const proxy = await startChangingProxy(world.serviceUrl, {
    answer({ headers }) {
      headers.date = new Date(Date.now() + clock.offMs).toUTCString();
    },
  });
  world.environment.REVIEW_API_BASE_URL = proxy.url;
  return {
    world,
    clock,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

const write = (world: World, message: string) =>
  world.atService(`insert into reference_service.reviews (created_at, updated_at, message) values (now(), now(), $1)`, [
    message,
  ]);
const messages = async (world: World) =>
  (await world.warehouse<{ message: string }>(`select message from warehouse.reviews where message like 'new%'`)).map(
    ({ message }) => message,
  );

async function requestsOf(world: World, work: () => Promise<unknown>): Promise<number> {
  const count = () => world.service.requests()['GET /v1/reviews'] ?? 0;
  const before = count();
  await work();
  return count() - before;
}

test.each([
  ['behind', -3653 * day],
  ['ahead', 3653 * day],
])(
  'a service whose clock is ten years %s costs a run hardly more requests, hides no review, and is named',
  async (direction, offMs) => {
    await using at = await worldWithClock(300);
    const { world, clock } = at;
    expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
    const usual = await requestsOf(world, () => world.run('sync-reviews'));
    clock.offMs = offMs;
    await write(world, 'new 1');
    let run = await runCli(['sync', 'reviews'], world.environment);
    expect(run.stderr).toContain(`3,653 days ${direction}`);
    await write(world, 'new 2');
    const cost = await requestsOf(world, async () => {
      run = await runCli(['sync', 'reviews'], world.environment);
    });
    expect(run.status).toBe(0);
    expect(cost).toBeLessThanOrEqual(usual + 6);
    expect(await messages(world)).toEqual(['new 1', 'new 2']);
    const { stdout } = await runCli(['status'], world.environment);
    expect(stdout).toContain(`3,653 days ${direction}`);

    const reconciled = await requestsOf(world, () => world.run('reconcile-reviews'));
    expect(await requestsOf(world, () => world.run('reconcile-reviews'))).toBeLessThanOrEqual(reconciled);
    expect(reconciled).toBeLessThan(40);

    clock.offMs = 0;
    await write(world, 'new 3');
    expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
    expect(await messages(world)).toEqual(['new 1', 'new 2', 'new 3']);
    expect((await runCli(['status'], world.environment)).stdout).not.toContain('3,653 days');
  },
);

test.each([
  ['behind', -3653 * day],
  ['ahead', 3653 * day],
])(
  'a first sync of a service that has been quiet for 60 days, whose clock is ten years %s, leaves a watermark by its reviews',
  async (_, offMs) => {
    await using at = await worldWithClock(50, 60 * day);
    const { world, clock } = at;
    clock.offMs = offMs;
    expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
    expect(await requestsOf(world, () => world.run('sync-reviews'))).toBeLessThan(20);
    await write(world, 'new');
    clock.offMs = 0;
    expect(await world.run('sync-reviews')).toMatchObject({ outcome: 'done' });
    expect(await messages(world)).toEqual(['new']);
  },
);
