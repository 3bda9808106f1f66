import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { startCli, startHere, until } from '../harness/cli.ts';
import { queryAgain } from '../harness/database.ts';
import { order, orderTest as test } from '../harness/order-world.ts';
import { noSchedules, openServe, openWorld, type World } from '../harness/world.ts';

/** Another process soon takes over what a killed or cut off process had in hand. */
const soon = { TAKE_OVER_SECONDS: '3', ORDER_LEASE_SECONDS: '20' };
const everyOther = { SCHEDULE_ORDERS: '*/2 * * * * *', SCHEDULE_REVIEWS: '*/2 * * * * *' };

/** Ends every connection to the shop and the warehouse, if one of them is at work; returns how many were. */
const cutConnections = async ({ shopUrl, warehouseUrl }: World): Promise<number> => {
  const admin = new URL('/postgres', shopUrl).href;
  const names = [shopUrl, warehouseUrl].map((url) => new URL(url).pathname.slice(1));
  const seen = `select pid, state from pg_stat_activity where datname = any($1)`;
  const cut = `with seen as (${seen})
    select state from seen where exists (select from seen where state <> 'idle') and pg_terminate_backend(pid)`;
  return (await queryAgain(admin, cut, [names])).filter(({ state }) => state !== 'idle').length;
};

const aSentence = expect.not.stringMatching(/^ {4}at |This is a fault of review-sync/m);

test('a worker whose connections are cut again and again completes everything', async () => {
  const environment = { ...noSchedules, ...soon, ...everyOther, LOG_LEVEL: 'info' };
  await using world = await openWorld({ shop: 'sample', service: { latencyMs: 20 }, environment });
  const worker = startCli(['worker'], world.environment);
  let isUp = true;
  const ended = worker.ended.finally(() => (isUp = false));
  await worker.says('worker ready');
  let busy = 0;
  await until(async () => {
    busy += await cutConnections(world);
    return busy > 3 || !isUp;
  }, 120);
  expect(worker.saidSoFar()).toEqual(aSentence);
  const since = new Date();
  await until(async () => {
    // Incomplete where a window lost its connection at each attempt: a scheduled run reads it again ten minutes later.
    const over = `select distinct job from sync.runs where started_at > $1 and outcome in ('done', 'incomplete')
      and job in ('sync-orders', 'sync-reviews')`;
    return !isUp || (await world.warehouse(over, [since])).length === 2;
  }, 80);
  worker.kill('SIGTERM');
  expect(await ended).toMatchObject({ status: 0, stderr: aSentence });
  for (const flow of ['reviews', 'orders']) await world.ends(0, `sync ${flow}`);
  expect(await world.warehouse('select from warehouse.reviews')).toHaveLength(200);
});

/** Locks a table of the warehouse until the test ends. @returns waits for a statement that waits for it. */
async function holdUp(world: World, table: string): Promise<() => Promise<unknown>> {
  const other = new pg.Client({ connectionString: world.warehouseUrl });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query(`begin; lock table ${table}`);
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return () => until(async () => (await world.warehouse(waiting)).length > 0);
}

test('each command that waits for a lock says so, and ends on a signal', async () => {
  await using world = await openWorld();
  await holdUp(world, 'sync.runs, sync.order_links, warehouse.reviews');
  const commands = ['status', 'forget order 1', 'sync reviews', 'migrate --rebuild'];
  const ends = commands.map(async (command) => {
    const running = startHere(command.split(' '), world.environment);
    await running.says('waits for a lock in the warehouse, which another session holds: pid ');
    running.kill('SIGINT');
    return [command, (await running.ended).status, running.saidSoFar()];
  });
  const stopped = expect.stringContaining('Stopped by SIGINT\n→ Nothing is lost.');
  expect(await Promise.all(ends)).toEqual(commands.map((command) => [command, 1, stopped]));
});

test('a command that cannot end its run says that workers continue it', async ({ world }) => {
  await world.place(order('O1'));
  const oneWaits = await holdUp(world, 'sync.order_links in exclusive mode');
  const command = startHere(['backfill', 'orders'], world.environment);
  await oneWaits();
  await holdUp(world, 'sync.runs');
  command.kill('SIGINT');
  const stderr = expect.stringContaining('the next worker continues');
  expect(await command.ended).toMatchObject({ status: 1, stderr });
});

test('while a table is locked the status page says so, and serve ends on a signal', async () => {
  const [token, url] = ['a-token-of-the-test', 'http://127.0.0.1:1/'];
  await using serving = await openServe({ STATUS_TOKEN: token, ALERT_WEBHOOK_URL: url });
  await holdUp(serving.world, 'sync.runs, sync.alert_watch');
  const page = await fetch(serving.url, { headers: { authorization: `Bearer ${token}` } });
  expect([page.status, await page.text()]).toEqual([503, expect.stringContaining('another session holds a lock')]);
  expect(await serving.stop()).toMatchObject({ status: 0 });
});

test('a command that waits for an order says who has it, and goes on afterwards', async ({ world }) => {
  await world.place(order('O1'));
  await world.sync();
  await world.shop(`update o set total_price = 7, updated_at = now()`);
  await world.warehouse(
    `update sync.order_links set lease_owner = 'other-machine:7:x', lease_expires_at = now() + interval '10 minutes'`,
  );
  const command = startHere(['sync', 'orders'], { ...world.environment, LOG_LEVEL: 'info' });
  await command.says('other-machine:7:x is pushing order O1');
  await command.says('waiting until');
  // The order is tried twice a second.
  const sql = `select from sync.runs where attended_at > started_at + interval '2 seconds' and finished_at is null`;
  await until(async () => (await world.warehouse(sql)).length > 0);
  await world.timePasses('10 minutes');
  expect(await command.ended).toMatchObject({ status: 0 });
  expect(command.saidSoFar().match(/"msg":"waiting: other-machine:7:x is pushing order O1/g)).toHaveLength(1);
  expect(await world.atService('select total_price from reference_service.orders')).toEqual([{ total_price: '7' }]);
});

test('a second signal ends a worker that waits for a running job, with status 1', async ({ world }) => {
  await world.place(order('O1'));
  await world.cli('backfill', 'orders', '--detach');
  const oneWaits = await holdUp(world, 'sync.order_links');
  const worker = startCli(['worker'], { ...world.environment, ...noSchedules, LOG_LEVEL: 'info' });
  await oneWaits();
  worker.kill('SIGTERM');
  await worker.says('stopping: finishing running jobs');
  worker.kill('SIGINT');
  expect((await worker.ended).status).toBe(1);
});
