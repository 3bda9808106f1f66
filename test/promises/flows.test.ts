import { expect, onTestFinished, test } from 'vitest';
import { startCli, startHere } from '../harness/cli.ts';
import { redisTest } from '../harness/each-queue.ts';
import { startRedis } from '../harness/redis.ts';
import { openWorld, until } from '../harness/world.ts';

/** Orders of the shop that are to be at the service, and how many lines they have. */
const toPush = `
  select count(distinct o.order_id)::integer as orders, count(i.*)::integer as lines
  from shop.orders o left join shop.order_items i on i.order_id = o.order_id
  where o.removed_at is null`;
const pushed = `
  select (select count(*)::integer from reference_service.orders) as orders,
    (select count(*)::integer from reference_service.sub_orders) as lines`;
const every = (seconds: number) => `*/${seconds} * * * * *`;

redisTest('the worker runs the flows on their schedules, from Redis, and ends cleanly on SIGTERM', async () => {
  const redis = await startRedis();
  onTestFinished(redis.close);
  const schedules = { SCHEDULE_REVIEWS: every(1), SCHEDULE_ORDERS: every(1) };
  await using here = await openWorld({ environment: { QUEUE_URL: redis.url, LOG_LEVEL: 'info', ...schedules } });
  const worker = startCli(['worker'], here.environment);
  const [expected] = await here.shop(toPush);
  await until(async () => JSON.stringify((await here.atService(pushed))[0]) === JSON.stringify(expected));
  const done = `select distinct job from sync.runs where outcome = 'done' and job in ('sync-orders', 'sync-reviews')`;
  await until(async () => (await here.warehouse(done)).length === 2);
  worker.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ status: 0 });
});

// Of both queues: queue/worker.
test('what a killed worker had in hand is taken over by another', async () => {
  await using here = await openWorld({
    service: { latencyMs: 400 },
    environment: { SCHEDULE_ORDERS: '', SCHEDULE_CATALOG: '', SCHEDULE_REVIEWS: every(2), TAKE_OVER_SECONDS: '3' },
  });
  const first = startCli(['worker'], here.environment);
  await until(async () => (here.service.requests()['GET /v1/reviews'] ?? 0) > 0);
  first.kill('SIGKILL');
  expect((await first.ended).signal).toBe('SIGKILL');
  const [killed] = await here.warehouse<{ id: string }>('select id from sync.runs order by started_at limit 1');
  expect(killed).toBeDefined();
  here.service.setFaults({ latencyMs: 0 });
  // A schedule that is due once a year: a worker without the schedule ends the run.
  const second = startHere(['worker'], { ...here.environment, SCHEDULE_REVIEWS: '0 0 1 1 *' });
  const ended = await until(async () => {
    const [run] = await here.warehouse<{ outcome: string | null; error: string | null }>(
      'select outcome, error from sync.runs where id = $1',
      [killed?.id],
    );
    return run?.outcome ? run : undefined;
  });
  expect(ended).toEqual({ outcome: 'done', error: null });
  expect(await here.warehouse('select count(*)::integer as n from warehouse.reviews')).toEqual([{ n: 200 }]);
  second.kill('SIGTERM');
  expect((await second.ended).status).toBe(0);
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
  // No span was read twice.
  const twice = await here.warehouse(`
    select a.id from sync.export_windows a join sync.export_windows b on a.id < b.id
      and tstzrange(a.start_at, a.end_at) && tstzrange(b.start_at, b.end_at)`);
  expect(twice).toEqual([]);
});

test('a run that is still going is not started on top of', async () => {
  // Slower than its schedule: each request of a run takes longer than the second between two runs.
  await using here = await openWorld({
    service: { latencyMs: 300 },
    environment: { SCHEDULE_REVIEWS: every(1), SCHEDULE_ORDERS: '', SCHEDULE_CATALOG: '' },
  });
  const worker = startHere(['worker'], here.environment);
  await until(async () => {
    const [row] = await here.warehouse<{ n: number }>(
      `select count(*)::integer as n from sync.runs where outcome = 'done'`,
    );
    return (row?.n ?? 0) >= 2;
  });
  worker.kill('SIGTERM');
  await worker.ended;
  const overlapping = await here.warehouse(`
    select a.id from sync.runs a join sync.runs b on a.job = b.job and a.id <> b.id
      and tstzrange(a.started_at, a.finished_at) && tstzrange(b.started_at, b.finished_at)`);
  expect(overlapping).toEqual([]);
});

test('an order dated in the future, or never, stops no other; the cursor stays behind the shop’s clock', async () => {
  await using world = await openWorld();
  await world.run('sync-reviews');
  await world.run('sync-orders');
  const nth = (n: number) =>
    `(select order_id from shop.orders where removed_at is null order by order_id offset ${n} limit 1)`;
  await world.shop(`update shop.orders set modified_at = '2999-01-01' where order_id = ${nth(1)}`);
  await world.shop(`update shop.orders set modified_at = 'infinity' where order_id = ${nth(2)}`);
  await world.run('sync-orders');
  const ahead = `select from sync.settings where (orders_cursor ->> 'at')::timestamptz > now()`;
  expect(await world.warehouse(ahead)).toEqual([]);
  await world.shop(`update shop.orders set buyer_name = 'Changed', modified_at = now() where order_id = ${nth(3)}`);
  await world.run('sync-orders');
  expect(await world.atService(`select 1 from reference_service.orders where user_name = 'Changed'`)).toHaveLength(1);
});

redisTest('a command whose queue goes away under it says what it waits for, and Ctrl-C ends its run', async () => {
  const redis = await startRedis();
  await using here = await openWorld({ environment: { QUEUE_URL: redis.url }, service: { latencyMs: 500 } });
  const sync = startCli(['sync', 'reviews'], here.environment);
  await sync.says('planning');
  await redis.close();
  await sync.says('waiting: the queue cannot be used; trying again: ');
  sync.kill('SIGINT');
  expect(await sync.ended).toMatchObject({ status: 1, stderr: expect.stringContaining('Interrupted. ') });
  expect(await here.warehouse('select outcome from sync.runs')).toEqual([{ outcome: 'abandoned' }]);
});
