import { expect, test } from 'vitest';
import { type SeedReview, seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { runCli } from '../harness/cli.ts';
import { startChangingProxy } from '../harness/proxy.ts';
import { openWorld, type World } from '../harness/world.ts';

const hour = 3_600_000;

/** Reviews an hour apart, at a service that answers 500 to each list that shows one of them and to its id. */
async function worldWithFailing(count: number, id: number) {
  const world = await openWorld({ shop: 'empty' });
  const reviews = Array.from({ length: count }, (_, index): SeedReview => {
    const at = new Date(Date.now() - (count - index) * hour);
    return { product_code: 'P1', message: `review ${index + 1}`, score: 5, created_at: at, updated_at: at };
  });
  await seedReviews(world.serviceDatabaseUrl, reviews);
  const failing = { isOn: true, requests: 0 };
  const proxy = await startChangingProxy(world.serviceUrl, {
    answer(answer, { path }) {
      const shown = path === '/v1/reviews' ? (answer.body as { id: number }[]).map((one) => one.id) : [];
      if (!failing.isOn || !(shown.includes(id) || path === `/v1/reviews/${id}`)) return;
      failing.requests += 1;
      Object.assign(answer, { status: 500, body: {} });
    },
  });
  world.environment.REVIEW_API_BASE_URL = proxy.url;
  return {
    world,
    failing,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** Seconds that a command has waited because the service failed, as its log has it; waits at the same time count once. */
function waited(log: string): number {
  const found = [...log.matchAll(/"time":"([^"]+)".*"until":"([^"]+)".*"waiting to retry /g)];
  expect(found).not.toEqual([]);
  let sum = 0;
  let end = 0;
  for (const [, from = '', until = ''] of found) {
    sum += Math.max(0, Date.parse(until) - Math.max(end, Date.parse(from)));
    end = Math.max(end, Date.parse(until));
  }
  return sum / 1000;
}
const held = async (world: World) => (await world.warehouse('select from warehouse.reviews')).length;

test('the newest review, on which the service always fails, costs a run 30 s of waiting at the most, and all others land', async () => {
  await using at = await worldWithFailing(200, 200);
  const { world, failing } = at;
  for (const command of [
    ['sync', 'reviews'],
    ['sync', 'reconcile'],
  ]) {
    const run = await runCli(command, { ...world.environment, LOG_LEVEL: 'info' });
    expect(run).toMatchObject({ status: 1, stderr: expect.stringContaining('cannot be read') });
    expect(waited(run.stderr)).toBeLessThan(30);
    expect(await held(world)).toBe(199);
  }
  const gaps = `select extract(epoch from end_at - start_at)::integer < 5 as "isShort" from sync.open_gaps`;
  expect(await world.warehouse(gaps)).toEqual([{ isShort: true }]);

  failing.isOn = false;
  expect(await runCli(['sync', 'reviews'], world.environment)).toMatchObject({ status: 0 });
  expect(await held(world)).toBe(200);
});
