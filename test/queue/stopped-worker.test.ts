import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { jobs } from '../../jobs/index.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { openApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { openLog } from '../../src/base/log.ts';
import { type Following, runToEnd, startWorker } from '../../src/runs/follow-run.ts';
import { startRun } from '../../src/runs/start-run.ts';
import { openOrderWorld } from '../harness/order-world.ts';
import type { Fate } from '../harness/proxy.ts';
import { until } from '../harness/world.ts';

test('a worker that is stopped while the shop takes long for a statement hands the step back, and asks the shop nothing more', async () => {
  await using world = await openOrderWorld();
  await world.shop(`insert into o (code) values ('O1');
    create table slow (seconds integer); insert into slow values (0);
    create function pause() returns boolean language plpgsql as
      $$ begin perform pg_sleep(seconds) from slow; return true; end $$;
    alter table o rename to o_plain; create view o as select * from o_plain where pause()`);
  let said = '';
  const app = await openApp(readConfig(world.environment), {
    log: openLog('info', (line) => {
      said += line;
    }),
  });
  await using opened = new AsyncDisposableStack();
  opened.defer(() => app.close());
  await world.shop('update slow set seconds = 25');
  const { id } = await startRun(app, { job: syncOrders });
  const running = await startWorker(app, jobs, []);
  const asleep = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  await until(async () => (await world.shop(asleep)).length > 0);
  await running.close(0);
  const counts = await app.queues.counts([id]);
  await opened.disposeAsync();
  expect(said).not.toMatch(/did not take all jobs back|Cannot use a pool/);
  expect(counts.runs).toMatchObject({ active: 0, waiting: 1 });
});

const following = (signal: AbortSignal): Following => ({ onProgress() {}, onRetry() {}, signal });

test('a command that is stopped before it starts its run, as between two, starts none', async () => {
  await using world = await openOrderWorld();
  const app = await world.openApp();
  const running = runToEnd(app, { job: syncOrders }, following(AbortSignal.abort()));
  await expect(running).rejects.toThrow('Interrupted.');
  expect(await world.warehouse('select from sync.runs')).toEqual([]);
});

test('a command that is stopped while the warehouse does not respond says so after five seconds, and has handed its jobs back', async () => {
  await using world = await openOrderWorld();
  await world.shop(`insert into o (code) values ('O1')`);
  const [isPosted, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  world.serviceRule(async ({ path }): Promise<Fate> => {
    if (path === '/v1/orders') isPosted.resolve();
    if (path === '/v1/orders') await end.promise;
    return 'pass';
  });
  const app = await world.openApp();
  const stop = new AbortController();
  const running = runToEnd(app, { job: syncOrders }, following(stop.signal));
  await isPosted.promise;
  const locking = new pg.Client({ connectionString: world.warehouseUrl });
  onTestFinished(() => locking.end());
  await locking.connect();
  await locking.query('begin; lock table sync.runs in access exclusive mode');
  stop.abort();
  await expect(running).rejects.toThrow('the run could not be ended');
  await locking.query('rollback');
  end.resolve();
  const open = await world.warehouse<{ id: string }>('select id from sync.runs');
  const counts = await app.queues.counts(open.map(({ id }) => id));
  expect(counts).toMatchObject({ runs: { active: 0 }, steps: { active: 0 } });
});
