import { expect, test } from 'vitest';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { startCli, startHere } from '../harness/cli.ts';
import { reviewAt } from '../harness/hourly-reviews.ts';
import { writeQueries } from '../harness/order-shop.ts';
import { openOrderWorld } from '../harness/order-world.ts';
import { startFaultProxy } from '../harness/proxy.ts';
import { order } from '../harness/shop-orders.ts';
import { noSchedules, openWorld, until, type World } from '../harness/world.ts';

const range = ['--from', '2024-01-01', '--to', '2024-03-31'];
const backfill = ['backfill', 'reviews', ...range, '--json'];
const reviewsOf = (world: World) =>
  world.warehouse<{ id: number }>('select id from warehouse.reviews order by id').then((rows) => rows.length);

const reviews = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => reviewAt(Date.UTC(2024, 0, 5 + ((from + n) % 80))));

const world = () => openWorld({ shop: 'empty' });

test('a run that has ended leaves nothing in the queue, and the same command reads everything again', async () => {
  await using here = await world();
  await seedReviews(here.serviceDatabaseUrl, reviews(0, 20));
  expect(await here.cli(...backfill)).toMatchObject({ status: 0 });
  const [{ id } = { id: '' }] = await here.warehouse<{ id: string }>('select id from sync.runs');
  expect(await (await here.openApp()).queues.progress(id)).toMatchObject({ state: 'lost' });
  await seedReviews(here.serviceDatabaseUrl, reviews(20, 5));
  const before = here.service.requests()['GET /v1/reviews'] ?? 0;
  expect(await here.cli(...backfill)).toMatchObject({ status: 0 });
  expect(here.service.requests()['GET /v1/reviews']).toBeGreaterThan(before);
  expect(await reviewsOf(here)).toBe(25);
  const runs = await here.warehouse('select distinct id from sync.runs where outcome = $1', ['done']);
  expect(runs).toHaveLength(2);
});

test('a scheduled run whose moment comes twice, because a clock was set back, does its work twice', async () => {
  await using here = await world();
  const { scheduled } = (await here.openApp()).queues;
  const worker = startHere(['worker'], {
    ...here.environment,
    ...noSchedules,
    SCHEDULE_REVIEWS: '0 0 1 1 *',
    LOG_LEVEL: 'info',
  });
  await worker.says('worker ready');
  for (const count of [1, 2]) {
    await seedReviews(here.serviceDatabaseUrl, [reviewAt(new Date())]);
    await scheduled.add('sync-reviews', {}, { jobId: 'moment', removeOnComplete: true });
    const done = `select from sync.runs where id = 'moment' and outcome = 'done'`;
    await until(async () => (await reviewsOf(here)) === count && (await here.warehouse(done)).length === 1);
  }
  worker.kill('SIGTERM');
  await worker.ended;
});

test('a backfill of which a step failed is completed by the same command', async () => {
  await using here = await world();
  await seedReviews(here.serviceDatabaseUrl, reviews(0, 20));
  const proxy = await here.through(startFaultProxy);
  let isRefusing = true;
  // No request for the last window goes through.
  proxy.refuse((path) => isRefusing && path.includes('2024-03'), 403);
  const broken = await here.cli(...backfill);
  isRefusing = false;
  expect(broken.status).toBe(1);
  expect(JSON.parse(broken.stdout)).toMatchObject({ outcome: 'incomplete', reason: 'steps-failed' });
  const repeated = await here.cli(...backfill);
  const { outcome, counts } = JSON.parse(repeated.stdout);
  expect([outcome, counts.reviews]).toEqual(['done', 0]);
  expect(await reviewsOf(here)).toBe(20);
});

test('of two commands that start the same backfill at once one starts it, the other joins', async () => {
  await using here = await world();
  await seedReviews(here.serviceDatabaseUrl, reviews(0, 20));
  here.service.setFaults({ latencyMs: 300 });
  const detached = [...backfill, '--detach'];
  const ends = await Promise.all([1, 2, 3].map(() => here.cli(...detached)));
  const reports = ends.map(({ stdout }) => JSON.parse(stdout) as { run: string; joined: boolean });
  expect(new Set(reports.map(({ run }) => run)).size).toBe(1);
  expect(reports.map(({ joined }) => joined).sort()).toEqual([false, true, true]);
  const again = await here.cli('backfill', 'reviews', ...range, '--detach');
  expect(again.stdout).toBe(`It is running already: ${reports[0]?.run}. Progress: review-sync status\n`);
  const followed = await Promise.all([1, 2].map(() => here.cli(...backfill)));
  expect(followed.map(({ status }) => status)).toEqual([0, 0]);
  expect(await here.warehouse('select id, outcome from sync.runs')).toEqual([{ id: reports[0]?.run, outcome: 'done' }]);
});

test('Ctrl-C of a command that joined a run ends it for the other command too, and running it again begins a new one', async () => {
  await using here = await world();
  await seedReviews(here.serviceDatabaseUrl, reviews(0, 20));
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

test('a backfill of orders that was killed, and is run again after a query was corrected, pushes every order as the query shows it now', async () => {
  await using here = await openOrderWorld({ environment: { ORDER_BATCH_SIZE: '4', ORDER_LEASE_SECONDS: '1' } });
  await here.place(...Array.from({ length: 12 }, (_, n) => order(`O${n}`, { total_price: 7 })));
  const backfillOrders = ['backfill', 'orders'];
  const running = startCli(backfillOrders, here.environment);
  let posts = 0;
  here.serviceRule(({ path }) => {
    posts += path === '/v1/orders' ? 1 : 0;
    if (posts < 7) return 'pass';
    running.kill('SIGKILL');
    return 'lose';
  });
  expect((await running.ended).signal).toBe('SIGKILL');
  here.serviceRule(() => 'pass');
  const orders = 'select code, created_at, updated_at, total_price * 2 as total_price from o';
  await writeQueries(here.environment.SHOP_SQL_DIR, { orders });
  expect(await here.cli(...backfillOrders)).toMatchObject({ status: 0 });
  const prices =
    'select total_price::integer as price, count(*)::integer as n from reference_service.orders group by 1';
  expect(await here.atService(prices)).toEqual([{ price: 14, n: 12 }]);
});
