import { spawn } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { packagePath } from '../../src/base/package-path.ts';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { runCli, startCli, startHere } from '../harness/cli.ts';
import { queryAgain } from '../harness/database.ts';
import { reviewAt } from '../harness/hourly-reviews.ts';
import { openOrderWorld } from '../harness/order-world.ts';
import { startFaultProxy } from '../harness/proxy.ts';
import { order } from '../harness/shop-orders.ts';
import { noSchedules, openWorld, until, type World } from '../harness/world.ts';

/** What a killed or cut off process had in hand is taken over soon. */
const soon = { TAKE_OVER_SECONDS: '3', ORDER_LEASE_SECONDS: '20' };

/**
 * Ends every connection to the shop and the warehouse, the queue's included, as soon as one of them is at work; returns
 * how many were. Where all are idle they are left alone: to connect again costs more than to look again.
 */
async function cutConnections(world: World): Promise<number> {
  const databases = [world.shopUrl, world.warehouseUrl].map((url) => new URL(url).pathname.slice(1));
  const admin = new URL(world.shopUrl);
  admin.pathname = '/postgres';
  const [cut] = await queryAgain<{ busy: number }>(
    admin.href,
    `with seen as (select pid, state from pg_stat_activity where datname = any($1) and pid <> pg_backend_pid())
     select count(*) filter (where state <> 'idle')::integer as busy
     from (
       select state, pg_terminate_backend(pid) from seen where exists (select from seen where state <> 'idle')
     ) as cut`,
    [databases],
  );
  return cut?.busy ?? 0;
}

/** Seconds until so many connections at work were met: between two meetings a process waits up to fifteen to try again. */
const cutting = 120;
/** Seconds until a run that lost its connections five times has been tried again: its waits add up to fifteen. */
const again = 40;

/** A process may fail, but it says so in a sentence. */
const aSentence = expect.not.stringMatching(/^ {4}at |This is a fault of review-sync/m);

test('a worker whose connections are cut again and again goes on, and the next runs complete everything', async () => {
  await using world = await openWorld({
    service: { latencyMs: 20 },
    environment: {
      ...noSchedules,
      ...soon,
      SCHEDULE_ORDERS: '* * * * * *',
      SCHEDULE_REVIEWS: '* * * * * *',
      LOG_LEVEL: 'info',
    },
  });
  const worker = startCli(['worker'], world.environment);
  let isUp = true;
  const ended = worker.ended.finally(() => {
    isUp = false;
  });
  await worker.says('worker ready');
  let busy = 0;
  await until(async () => {
    const cut = await cutConnections(world);
    busy += cut;
    return busy > 3 || !isUp;
  }, cutting);
  expect(worker.saidSoFar()).toEqual(aSentence);
  const since = new Date();
  for (const job of ['sync-orders', 'sync-reviews']) {
    await until(async () => {
      // Incomplete where a window lost its connection at each attempt: a scheduled run reads it again ten minutes later.
      const over = `select from sync.runs where job = $1 and started_at > $2 and outcome in ('done', 'incomplete')`;
      return !isUp || (await world.warehouse(over, [job, since])).length > 0;
    }, again);
  }
  worker.kill('SIGTERM');
  expect(await ended).toMatchObject({ status: 0, stderr: aSentence });
  for (const flow of ['reviews', 'orders']) {
    expect(await world.cli('sync', flow)).toMatchObject({ status: 0 });
  }
  expect(await world.warehouse('select count(*)::integer as n from warehouse.reviews')).toEqual([{ n: 200 }]);
});

/** A service with reviews of one month, behind a proxy. */
async function monthWorld(count: number) {
  const world = await openWorld({ shop: 'empty', environment: soon });
  onTestFinished(() => world[Symbol.asyncDispose]());
  const reviews = Array.from({ length: count }, (_, n) =>
    reviewAt(Date.UTC(2024, 0, 2) + (n * 28 * 86_400_000) / count),
  );
  await seedReviews(world.serviceDatabaseUrl, reviews);
  const proxy = await world.through(startFaultProxy);
  const lists = () => proxy.asked().filter((path) => path.startsWith('/v1/reviews?')).length;
  return { world, proxy, lists, environment: world.environment };
}
const backfill = ['backfill', 'reviews', '--from', '2024-01-01', '--to', '2024-01-31'];
const held = 'select count(*)::integer as n from warehouse.reviews';

test('a service that is out of order for a while is waited for, with a word about it', async () => {
  const { world, proxy, lists, environment } = await monthWorld(1500);
  let isOut = true;
  proxy.refuse(() => isOut && lists() > 12, 503);
  const running = startHere(backfill, environment);
  await running.says('waiting until ');
  isOut = false;
  expect(await running.ended).toMatchObject({ status: 0, stderr: aSentence });
  expect(await world.warehouse(held)).toEqual([{ n: 1500 }]);
});

test('a worker outlives a service that refuses everything, and closes each run', async () => {
  const { world, proxy, environment } = await monthWorld(100);
  proxy.refuse(() => true, 403);
  const worker = startHere(['worker'], { ...environment, ...noSchedules, SCHEDULE_REVIEWS: '* * * * * *' });
  await until(
    async () => (await world.warehouse(`select from sync.runs where outcome in ('failed', 'incomplete')`)).length > 2,
  );
  proxy.refuse(() => false, 403);
  // A span that was refused waits ten minutes for the worker; a command reads it at once.
  await runCli(['sync', 'reviews'], environment);
  await until(async () => JSON.stringify(await world.warehouse(held)) === JSON.stringify([{ n: 100 }]));
  worker.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ status: 0, stderr: aSentence });
});

/** Holds up statements about the links of orders until the test ends. @returns waits for such a statement. */
async function holdUpOrders(world: World): Promise<() => Promise<unknown>> {
  const other = new pg.Client({ connectionString: world.warehouseUrl });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query('begin; lock table sync.order_links in access exclusive mode');
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return () => until(async () => (await world.warehouse(waiting)).length > 0);
}

test('a command that is stopped while a statement of the warehouse takes minutes ends without waiting for it', async () => {
  await using world = await openOrderWorld();
  await world.place(order('O1'));
  const oneWaits = await holdUpOrders(world);
  const running = startCli(['sync', 'orders'], world.environment);
  await oneWaits();
  await running.says('waits for a lock in the warehouse, which another session holds: pid ');
  running.kill('SIGTERM');
  const { status, stderr } = await running.ended;
  expect([status, stderr]).toEqual([1, expect.stringContaining('Interrupted. Finished work is kept.')]);
  expect(stderr).not.toContain('trying again');
});

test('a command that is stopped while the runs are locked ends, and says who holds the lock', async () => {
  await using world = await openOrderWorld();
  const other = new pg.Client({ connectionString: world.warehouseUrl });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query('begin; lock table sync.runs in access exclusive mode');
  const running = startCli(['sync', 'orders'], world.environment);
  await running.says('waits for a lock in the warehouse, which another session holds: pid ');
  running.kill('SIGINT');
  const { status, stderr } = await running.ended;
  expect([status, stderr]).toEqual([1, expect.stringContaining('Stopped by SIGINT\nNothing is lost.')]);
});

test('verify orders, verify reviews and the diff of a backfill that are stopped end with a sentence', async () => {
  await using world = await openWorld({ service: { latencyMs: 200 } });
  const proxy = await world.through(startFaultProxy);
  for (const command of ['verify orders', 'verify reviews', 'backfill orders --dry-run --diff']) {
    const before = proxy.calls();
    const running = startHere(command.split(' '), world.environment);
    await until(async () => proxy.calls() > before);
    running.kill('SIGINT');
    const stderr = expect.stringContaining('Stopped by SIGINT\nNothing is lost.');
    expect([command, await running.ended]).toMatchObject([command, { status: 1, stderr }]);
    expect(running.saidSoFar()).toEqual(aSentence);
  }
});

test('a second signal ends a worker that waits for a running job at once, with status 1', async () => {
  await using world = await openOrderWorld();
  await world.place(order('O1'));
  await world.cli('backfill', 'orders', '--detach');
  const oneWaits = await holdUpOrders(world);
  const worker = startCli(['worker'], { ...world.environment, ...noSchedules, LOG_LEVEL: 'info' });
  await oneWaits();
  worker.kill('SIGTERM');
  await worker.says('stopping: finishing running jobs');
  worker.kill('SIGINT');
  expect((await worker.ended).status).toBe(1);
});

test('a worker ends when the npm process that started it is killed', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const main = packagePath('src', 'cli', 'main.ts');
  // npm runs a shell, and the shell runs the program: neither hands a signal on.
  const script = `trap '' TERM; "${process.execPath}" "${main}" worker; true`;
  const env = { ...world.environment, LOG_LEVEL: 'info', npm_command: 'exec' };
  const npm = spawn('sh', ['-c', script], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  npm.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until(async () => said.includes('worker ready'));
  npm.kill('SIGKILL');
  // Closed once no process holds the pipe any more.
  await once(npm.stderr, 'close');
  expect(said).toMatch(/"stopp/);
});
