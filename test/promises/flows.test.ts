import { expect, onTestFinished, test } from 'vitest';
import { startHere, until } from '../harness/cli.ts';
import { redisTest } from '../harness/queues.ts';
import { startRedis } from '../harness/servers.ts';
import { openWorld } from '../harness/world.ts';

/** Orders of the shop that are to be at the service, and how many lines they have. */
const toPush = `
  select count(distinct o.order_id)::integer as orders, count(i.*)::integer as lines
  from shop.orders o left join shop.order_items i on i.order_id = o.order_id
  where o.removed_at is null`;
const pushed = `
  select (select count(*)::integer from reference_service.orders) as orders,
    (select count(*)::integer from reference_service.sub_orders) as lines`;
const every = (seconds: number) => `*/${seconds} * * * * *`;

redisTest('a worker runs the flows on their schedules, from Redis, and ends on SIGTERM', async () => {
  const redis = await startRedis();
  onTestFinished(redis.close);
  const schedules = { SCHEDULE_REVIEWS: every(1), SCHEDULE_ORDERS: every(1) };
  await using here = await openWorld({ environment: { QUEUE_URL: redis.url, LOG_LEVEL: 'info', ...schedules } });
  const worker = startHere(['worker'], here.environment);
  const [expected] = await here.shop(toPush);
  await until(async () => JSON.stringify((await here.atService(pushed))[0]) === JSON.stringify(expected));
  const done = `select distinct job from sync.runs where outcome = 'done' and job in ('sync-orders', 'sync-reviews')`;
  await until(async () => (await here.warehouse(done)).length === 2);
  worker.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ status: 0 });
});

test('an interrupted backfill goes on where it stopped', async () => {
  await using here = await openWorld({ service: { latencyMs: 300 }, environment: { REVIEW_API_CONCURRENCY: '1' } });
  const first = startHere(['backfill', 'reviews'], here.environment);
  await until(async () => (await here.warehouse('select id from sync.export_windows')).length >= 2);
  first.kill('SIGINT');
  const stopped = await first.ended;
  expect(stopped.status).toBe(1);
  expect(stopped.stderr).toContain('Run the same command again to continue');
  here.service.setFaults({ latencyMs: 0 });
  expect((await here.cli('backfill', 'reviews')).status).toBe(0);
  expect(await here.warehouse('select count(*)::integer as n from warehouse.reviews')).toEqual([{ n: 200 }]);
  const twice = await here.warehouse(`
    select a.id from sync.export_windows a join sync.export_windows b on a.id < b.id
      and tstzrange(a.start_at, a.end_at) && tstzrange(b.start_at, b.end_at)`);
  expect(twice).toEqual([]);
});
