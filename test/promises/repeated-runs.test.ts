import { expect } from 'vitest';
import { startHere, until } from '../harness/cli.ts';
import { reviewAt, worldTest as test } from '../harness/world.ts';

const range = ['--from', '2024-01-01', '--to', '2024-03-31'];
const backfill = ['backfill', 'reviews', ...range, '--json'];
const reviews = Array.from({ length: 20 }, (_, n) => reviewAt(Date.UTC(2024, 0, 5 + n)));

test('of commands that start the same backfill at once one starts it, the others join', async ({ world: here }) => {
  await here.seedReviews(reviews);
  here.service.setFaults({ latencyMs: 300 });
  const detached = ['backfill', 'reviews', ...range, '--detach'];
  const reports = await Promise.all([1, 2, 3].map(() => here.json(...detached)));
  const [{ run: id }] = reports;
  expect(reports.map(({ run, joined }) => [run, joined]).sort()).toEqual([false, true, true].map((one) => [id, one]));
  const again = await here.prints('backfill reviews', ...range, '--detach');
  expect(again).toBe(`It is running already: ${id}. Progress: review-sync status\n`);
  const followed = await Promise.all([1, 2].map(() => here.cli(...backfill)));
  expect(followed.map(({ status }) => status)).toEqual([0, 0]);
  expect(await here.warehouse('select id, outcome from sync.runs')).toEqual([{ id, outcome: 'done' }]);
});

test('a backfill of orders that is begun again ends the open one', async ({ openWorld }) => {
  const world = await openWorld({ shop: 'sample' });
  for (const _run of [1, 2]) await world.ends(0, 'backfill orders --detach');
  const runs = 'select outcome from sync.runs order by started_at';
  expect(await world.warehouse(runs)).toEqual([{ outcome: 'abandoned' }, { outcome: null }]);
});

test('Ctrl-C of a command that joined a run ends it for the other command, too', async ({ world: here }) => {
  await here.seedReviews(reviews);
  here.service.setFaults({ latencyMs: 1000 });
  const [first, second] = [startHere(backfill, here.environment), startHere(backfill, here.environment)];
  for (const command of [first, second]) await command.says('backfill reviews: ');
  second.kill('SIGINT');
  expect((await second.ended).status).toBe(1);
  here.service.setFaults({ latencyMs: 0 });
  const stopped = await first.ended;
  expect(stopped.status).toBe(1);
  expect(JSON.parse(stopped.stdout)).toMatchObject({ outcome: 'incomplete', error: expect.stringContaining('Ctrl-C') });
  expect(await here.cli(...backfill)).toMatchObject({ status: 0 });
  const outcomes = 'select outcome from sync.runs order by started_at';
  expect(await here.warehouse(outcomes)).toEqual([{ outcome: 'abandoned' }, { outcome: 'done' }]);
});

test('an interrupted backfill goes on where it stopped', async ({ openWorld }) => {
  const environment = { REVIEW_API_CONCURRENCY: '1' };
  const here = await openWorld({ shop: 'sample', service: { latencyMs: 300 }, environment });
  const first = startHere(['backfill', 'reviews'], here.environment);
  await until(async () => (await here.warehouse('select id from sync.export_windows')).length >= 2);
  first.kill('SIGINT');
  const stderr = expect.stringContaining('Run the same command again to continue');
  expect(await first.ended).toMatchObject({ status: 1, stderr });
  here.service.setFaults({ latencyMs: 0 });
  await here.ends(0, 'backfill reviews');
  expect(await here.warehouse('select count(*)::integer as n from warehouse.reviews')).toEqual([{ n: 200 }]);
  const twice = await here.warehouse(`
    select a.id from sync.export_windows a join sync.export_windows b on a.id < b.id
      and tstzrange(a.start_at, a.end_at) && tstzrange(b.start_at, b.end_at)`);
  expect(twice).toEqual([]);
});
