import { expect, onTestFinished, test } from 'vitest';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { runCli } from '../harness/cli.ts';
import { hourlyReviews } from '../harness/hourly-reviews.ts';
import { type Answer, type Call, startChangingProxy } from '../harness/proxy.ts';
import { openWorld, type World } from '../harness/world.ts';

/** Reviews an hour apart, at a service that answers 500 to each list that shows one of them and to its id. */
async function worldWithFailing(count: number, id: number) {
  const world = await openWorld({ shop: 'empty' });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await seedReviews(world.serviceDatabaseUrl, hourlyReviews(count));
  const failing = { isOn: true };
  const answer = (answer: Answer, { path }: Call) => {
    const shown = path === '/v1/reviews' ? (answer.body as { id: number }[]).map((one) => one.id) : [];
    if (!failing.isOn || !(shown.includes(id) || path === `/v1/reviews/${id}`)) return;
    Object.assign(answer, { status: 500, body: {} });
  };
  await world.through((url) => startChangingProxy(url, { answer }));
  return { world, failing };
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
  const { world, failing } = await worldWithFailing(200, 200);
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
  expect(await world.cli('sync', 'reviews')).toMatchObject({ status: 0 });
  expect(await held(world)).toBe(200);
});
