import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli, startCli } from '../harness/cli.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { openWorld, until, type World } from '../harness/world.ts';

/** Orders of the shop that are to be at the service, and how many lines they have. */
const toPush = `
  select count(distinct o.order_id)::integer as orders, count(i.*)::integer as lines
  from shop.orders o left join shop.order_items i on i.order_id = o.order_id
  where o.removed_at is null`;
const pushed = `
  select (select count(*)::integer from reference_service.orders) as orders,
    (select count(*)::integer from reference_service.sub_orders) as lines`;
const every = (seconds: number) => `*/${seconds} * * * * *`;

describe.each([
  { queue: 'postgres', isHere: true },
  { queue: 'redis', isHere: hasRedis },
])('on the $queue queue', ({ queue, isHere }) => {
  let redis: Awaited<ReturnType<typeof startRedis>> | undefined;
  beforeAll(async () => {
    if (queue === 'redis' && isHere) redis = await startRedis();
  });
  afterAll(() => redis?.close());

  const world = (options: Parameters<typeof openWorld>[0] = {}): Promise<World> =>
    openWorld({ ...options, environment: { ...options.environment, ...(redis && { QUEUE_URL: redis.url }) } });

  test.skipIf(!isHere)('reviews and orders are the same at both ends, and a second run sends nothing', async () => {
    await using here = await world();
    const reviews = await runCli(['sync', 'reviews', '--json'], here.environment);
    expect(reviews).toMatchObject({ status: 0 });
    expect(JSON.parse(reviews.stdout)).toMatchObject({ outcome: 'done', counts: { inserted: 200 } });
    expect((await runCli(['sync', 'orders'], here.environment)).status).toBe(0);
    expect(await here.atService(pushed)).toEqual(await here.shop(toPush));
    const ids = 'select id from %s order by id';
    expect(await here.warehouse(ids.replace('%s', 'warehouse.reviews'))).toEqual(
      await here.atService(ids.replace('%s', 'reference_service.reviews')),
    );

    const before = here.service.requests();
    expect((await runCli(['sync', 'orders'], here.environment)).status).toBe(0);
    expect(here.service.requests()).toEqual(before);
  });

  test.skipIf(!isHere)('the worker runs the flows on their schedules and ends cleanly on SIGTERM', async () => {
    await using here = await world({
      environment: { LOG_LEVEL: 'info', SCHEDULE_REVIEWS: every(1), SCHEDULE_ORDERS: every(1) },
    });
    const worker = startCli(['worker'], here.environment);
    const [expected] = await here.shop(toPush);
    await until(async () => JSON.stringify((await here.atService(pushed))[0]) === JSON.stringify(expected));
    worker.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ status: 0 });
    const runs = await here.warehouse<{ job: string }>(`select distinct job from sync.runs where outcome = 'done'`);
    expect(runs.map((run) => run.job)).toEqual(expect.arrayContaining(['sync-orders', 'sync-reviews']));
  });

  test.skipIf(!isHere)('a run that is still going is not started on top of', async () => {
    // Slower than its schedule: each request of a run takes longer than the second between two runs.
    await using here = await world({
      service: { latencyMs: 700 },
      environment: { SCHEDULE_REVIEWS: every(1), SCHEDULE_ORDERS: '', SCHEDULE_CATALOG: '' },
    });
    const worker = startCli(['worker'], here.environment);
    await until(async () => {
      const [row] = await here.warehouse<{ n: number }>(
        `select count(*)::integer as n from sync.runs where outcome = 'done'`,
      );
      return (row?.n ?? 0) >= 3;
    });
    worker.kill('SIGTERM');
    await worker.ended;
    const overlapping = await here.warehouse(`
      select a.id from sync.runs a join sync.runs b on a.job = b.job and a.id <> b.id
        and tstzrange(a.started_at, a.finished_at) && tstzrange(b.started_at, b.finished_at)`);
    expect(overlapping).toEqual([]);
  });

  test.skipIf(!isHere)('what a killed worker had in hand is taken over by another', async () => {
    await using here = await world({
      service: { latencyMs: 400 },
      environment: { SCHEDULE_ORDERS: '', SCHEDULE_CATALOG: '', SCHEDULE_REVIEWS: every(2) },
    });
    const first = startCli(['worker'], here.environment);
    await until(async () => (here.service.requests()['GET /v1/reviews'] ?? 0) > 0);
    first.kill('SIGKILL');
    expect((await first.ended).signal).toBe('SIGKILL');
    const [killed] = await here.warehouse<{ id: string }>('select id from sync.runs order by started_at limit 1');
    here.service.setFaults({ latencyMs: 0 });
    const second = startCli(['worker'], { ...here.environment, SCHEDULE_REVIEWS: '' });
    await until(async () => {
      const [run] = await here.warehouse<{ outcome: string }>('select outcome from sync.runs where id = $1', [
        killed?.id,
      ]);
      return run?.outcome === 'done';
    });
    expect(await here.warehouse('select count(*)::integer as n from warehouse.reviews')).toEqual([{ n: 200 }]);
    second.kill('SIGTERM');
    expect((await second.ended).status).toBe(0);
  });

  test.skipIf(!isHere)('schedules in the queue follow the configuration', async () => {
    await using here = await world();
    const planned = async (environment: Record<string, string>) => {
      const worker = startCli(['worker'], { ...here.environment, ...environment, LOG_LEVEL: 'info' });
      await worker.says('worker ready');
      worker.kill('SIGTERM');
      await worker.ended;
      const { stdout } = await runCli(['status', '--json'], here.environment);
      const { scheduled } = JSON.parse(stdout) as { scheduled: { job: string; pattern: string; timeZone: string }[] };
      return Object.fromEntries(scheduled.map((one) => [one.job, `${one.pattern} ${one.timeZone}`]));
    };
    expect(await planned({})).toMatchObject({
      'sync-orders': '*/5 * * * * Asia/Seoul',
      'sync-reviews': '*/15 * * * * Asia/Seoul',
    });
    const changed = await planned({
      SCHEDULE_ORDERS: '7 3 * * *',
      SCHEDULE_REVIEWS: '',
      SCHEDULE_TIME_ZONE: 'Europe/Berlin',
    });
    expect(changed['sync-orders']).toBe('7 3 * * * Europe/Berlin');
    expect(changed['sync-reviews']).toBeUndefined();
  });

  test.skipIf(!isHere)('an interrupted backfill goes on where it stopped', async () => {
    await using here = await world({ service: { latencyMs: 150 }, environment: { REVIEW_API_CONCURRENCY: '1' } });
    const first = startCli(['backfill', 'reviews'], here.environment);
    await until(async () => (await here.warehouse('select id from sync.export_windows')).length >= 2);
    first.kill('SIGINT');
    const stopped = await first.ended;
    expect(stopped.status).toBe(1);
    expect(stopped.stderr).toContain('Run the same command again to go on where it stopped');
    here.service.setFaults({ latencyMs: 0 });
    expect((await runCli(['backfill', 'reviews'], here.environment)).status).toBe(0);
    expect(await here.warehouse('select count(*)::integer as n from warehouse.reviews')).toEqual([{ n: 200 }]);
    // No span was read twice.
    const twice = await here.warehouse(`
      select a.id from sync.export_windows a join sync.export_windows b on a.id < b.id
        and tstzrange(a.start_at, a.end_at) && tstzrange(b.start_at, b.end_at)`);
    expect(twice).toEqual([]);
  });
});
