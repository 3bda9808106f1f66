import { type Span, type SpanOptions, type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { jobs } from '../../jobs/index.ts';
import { syncCatalog } from '../../jobs/sync-catalog.ts';
import { syncOrders } from '../../jobs/sync-orders.ts';
import { openApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { openLog } from '../../src/base/log.ts';
import { runAttempts } from '../../src/queue/index.ts';
import { type Following, runToEnd, startWorker } from '../../src/runs/run-to-end.ts';
import { startRun } from '../../src/runs/start-run.ts';
import { rowsOf } from '../../src/warehouse/index.ts';
import { until } from '../harness/cli.ts';
import { orderTest as test } from '../harness/order-world.ts';
import type { Fate } from '../harness/proxy.ts';

test('a worker that is stopped while the shop is slow hands the step back', async ({ world }) => {
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

test('a command that is stopped before it starts its run, as between two, starts none', async ({ world }) => {
  const app = await world.openApp();
  const running = runToEnd(app, { job: syncOrders }, following(AbortSignal.abort()));
  await expect(running).rejects.toThrow('Interrupted.');
  expect(await world.warehouse('select from sync.runs')).toEqual([]);
});

test('a shop that is away is asked five times, then the run of the command has failed', async ({ world }) => {
  const { delay } = runAttempts.backoff;
  Object.assign(runAttempts.backoff, { delay: 1 });
  onTestFinished(() => void Object.assign(runAttempts.backoff, { delay }));
  const app = await world.openApp();
  const stop = new AbortController();
  let asked = 0;
  const orders = async () => {
    asked += 1;
    if (asked > 9) stop.abort();
    throw new Error('connect ECONNREFUSED');
  };
  const away = { ...app, shop: { ...app.shop, orders } };
  await expect(runToEnd(away, { job: syncOrders }, following(stop.signal))).rejects.toThrow('ECONNREFUSED');
  expect(asked).toBe(5);
  expect(await world.warehouse('select outcome from sync.runs')).toEqual([{ outcome: 'failed' }]);
});

test('a command stopped while the warehouse hangs says so, and hands its jobs back', async ({ world }) => {
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

test('a statement of the queue that waits for a lock counts as one of review-sync', async ({ world }) => {
  const app = await world.openApp();
  const holder = new pg.Client({ connectionString: world.warehouseUrl, application_name: 'somebody' });
  onTestFinished(() => holder.end());
  await holder.connect();
  await holder.query('begin; lock table bullmq.job in access exclusive mode');
  const waiting = app.queues.counts(['a-run']).catch(() => {});
  const [found] = await until(async () => {
    const rows = await rowsOf<{ what: string }>(app.warehouse.db, 'sessions_in_the_way', 0);
    return rows.length > 0 && rows;
  });
  expect(found?.what).toContain('application somebody');
  await holder.query('rollback');
  await waiting;
});

/** An OpenTelemetry SDK as small as one can be: it keeps the names of spans. */
function recordSpans(): string[] {
  const names: string[] = [];
  const spanContext = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 };
  const tracer: Tracer = {
    startSpan(name: string, _options?: SpanOptions): Span {
      names.push(name);
      return trace.wrapSpanContext(spanContext);
    },
    startActiveSpan: () => {
      throw new Error('not used');
    },
  };
  const provider: TracerProvider = { getTracer: () => tracer };
  trace.setGlobalTracerProvider(provider);
  onTestFinished(() => trace.disable());
  return names;
}

test('the run and steps of a command are spans; what is due it leaves to workers', async ({ world }) => {
  const names = recordSpans();
  const app = await world.openApp();
  const { scheduled } = app.queues;
  await scheduled.add('sync-orders', {});
  const end = await runToEnd(app, { job: syncCatalog }, following(new AbortController().signal));
  expect(end).toMatchObject({ outcome: 'done' });
  expect(await scheduled.getJobCounts('waiting')).toEqual({ waiting: 1 });
  expect(names).toContainEqual(expect.stringMatching(/^add review-sync-run-sync-catalog/));
  // The job of the run twice, before and after its step.
  const handled = names.filter((name) => name.startsWith('process review-sync-run-sync-catalog'));
  expect(handled).toHaveLength(3);
});
