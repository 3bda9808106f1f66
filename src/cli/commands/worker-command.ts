import { once } from 'node:events';
import { hostname } from 'node:os';
import { jobs } from '../../../jobs/index.ts';
import type { App } from '../../app/app.ts';
import { describeWithHint } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { openOutage } from '../../base/outage.ts';
import { isRedis, takersOfBrands } from '../../queue/connection.ts';
import { applySchedules, plannedRuns, schedulesOf, watchSchedules } from '../../queue/schedules.ts';
import { openDueTaker } from '../../queue/worker.ts';
import { endRunsOfSchedulesOff } from '../../runs/end-run.ts';
import { type SharedWork, startWorker } from '../../runs/start-worker.ts';
import { openRunSeats } from '../../runs/step-slots.ts';
import { startServer } from '../../server/index.ts';
import type { MeasuredApp } from '../../server/measured-app.ts';
import type { Context, Define, Traits } from '../command.ts';
import { serveBrands, startBackground } from '../serve-brands.ts';
import { requireShopQueries } from '../with-app.ts';

export const traits: Traits = { hasServers: true };

export const define: Define = (commander, run) => {
  commander
    .addHelpText(
      'after',
      `
Runs each flow on its cron schedule (SCHEDULE_ORDERS, SCHEDULE_REVIEWS …, in SCHEDULE_TIME_ZONE). Any number of workers
may run; a run that has not ended is not started a second time. SIGTERM finishes running jobs for ten seconds at most and
returns the rest to the queue. After a crash another worker takes over within half a minute. With METRICS_PORT there are
/metrics, /healthz and /readyz at HOST; with ALERT_WEBHOOK_URL each urgent issue is posted when it begins and when it ends.`,
    )
    .action(() => run(work));
};

async function work(context: Context): Promise<undefined> {
  const log = await context.log();
  await using opened = new AsyncDisposableStack();
  let sharedWork: SharedWork | undefined;
  const served = await serveBrands(context, log, opened, async (measured, own, { shared, pollMs }) => {
    if (shared) sharedWork ??= openSharedWork(measured.app, log);
    await workFor(measured, own, { shared: sharedWork, everyMs: pollMs });
  });
  // Not awaited: a due run may be waiting for the warehouse of one brand, and the other brands close meanwhile.
  opened.defer(() => void sharedWork?.due.close().catch(() => {}));
  const { metricsPort } = served.deployment;
  if (metricsPort !== undefined) {
    // A second worker of the machine may lack the port: its work matters more than its metrics.
    const server = await startServer(served, metricsPort, { isPublic: false }).catch((error: unknown) => {
      log.error({ error: describeWithHint(error) }, 'this worker goes on without /metrics, /healthz and /readyz');
      return undefined;
    });
    if (server) log.info({ url: server.url }, 'listening');
    opened.defer(async () => server?.close());
  }
  const queue = isRedis(served.deployment.queueUrl) ? 'redis' : 'postgres';
  log.info({ queue, worker: `${hostname()}:${process.pid}` }, 'worker ready');
  if (!context.signal.aborted) await once(context.signal, 'abort');
  log.info('stopping: finishing running jobs');
  await opened.disposeAsync();
  log.info('stopped');
}

/** State that the workers of all brands share. */
function openSharedWork({ config: { takeOverSeconds } }: App, log: Logger): SharedWork {
  // Nothing aborts the start of a due run. If the process ends before it, another worker takes it over.
  const { signal: abort } = new AbortController();
  const due = openDueTaker({ takeOverSeconds, log, abort, queueOutage: openOutage(log, 'queue') });
  return { seats: openRunSeats(takersOfBrands - 1), due };
}

/** Sets the schedules of a brand and carries its runs out until `opened` closes. */
async function workFor(
  measured: MeasuredApp,
  opened: AsyncDisposableStack,
  among: { shared?: SharedWork | undefined; everyMs?: number | undefined },
): Promise<void> {
  const { app, metrics } = measured;
  const { config, log } = app;
  // Reviews are synced without the shop, so a worker runs anyway, and does not wait for a shop that is down.
  void requireShopQueries(app).catch((error: unknown) => {
    log.error(`orders and catalog cannot be synced: ${describeWithHint(error)}`);
  });
  const schedules = schedulesOf(jobs, config);
  await applySchedules(app.queues, schedules);
  await endRunsOfSchedulesOff(app, schedules);
  // A look reads the schedules of all brands.
  const watching = watchSchedules(app, schedules, 60 * (among.everyMs ?? 1000));
  opened.defer(() => watching.close());
  for (const planned of await plannedRuns(app.queues)) log.info(planned, 'scheduled');
  const running = await startWorker(app, jobs, schedules, { onStep: metrics.onStep, ...among });
  const background = startBackground(measured, among.everyMs);
  opened.defer(async () => void (await Promise.all([running.close(), background.close()])));
}
