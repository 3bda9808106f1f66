import { once } from 'node:events';
import { hostname } from 'node:os';
import { jobs } from '../../../jobs/index.ts';
import { startWebhookApplier } from '../../background/apply-webhooks.ts';
import { startAlertWatcher } from '../../background/watch-alerts.ts';
import { describeWithHint } from '../../base/errors.ts';
import { applySchedules, plannedRuns, schedulesOf, watchSchedules } from '../../queue/schedules.ts';
import { startWorker } from '../../runs/follow-run.ts';
import { endRunsOfSchedulesOff } from '../../runs/start-run.ts';
import { type RunningServer, startServer } from '../../server/index.ts';
import { openMeasuredApp } from '../../server/measured-app.ts';
import type { Command, Context } from '../command.ts';
import { requireShopQueries } from '../ui/with-app.ts';

export const command: Command = {
  isSilent: true,
  define(commander, run) {
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
  },
};

async function work(context: Context): Promise<undefined> {
  const config = context.config();
  const log = await context.log();
  await using opened = new AsyncDisposableStack();
  const measured = await openMeasuredApp(config, log, opened);
  const { app, metrics } = measured;
  // Reviews are synced without the shop, so a worker runs all the same, and does not wait for a shop that is down.
  void requireShopQueries(app).catch((error: unknown) => {
    log.error(`orders and catalog cannot be synced: ${describeWithHint(error)}`);
  });
  const schedules = schedulesOf(jobs, config.schedules, config.scheduleTimeZone);
  const scheduled = schedules.map(({ job }) => job);
  await applySchedules(app.queues, schedules);
  await endRunsOfSchedulesOff(app, scheduled);
  const watching = watchSchedules(app, schedules);
  opened.defer(() => watching.close());
  for (const planned of await plannedRuns(app.queues)) log.info(planned, 'scheduled');
  const alerts = startAlertWatcher(app);
  opened.defer(() => alerts?.close());
  const running = await startWorker(app, jobs, scheduled, { onStep: metrics.onStep });
  const applier = startWebhookApplier(app);
  let server: RunningServer | undefined;
  // Side by side: a client that holds the server's connections must not keep the worker taking jobs.
  opened.defer(async () => void (await Promise.all([running.close(), applier.close(), server?.close()])));
  if (config.metricsPort !== undefined) {
    // A second worker of the machine, say: what it does is worth more than its figures.
    server = await startServer(measured, config.metricsPort, { isPublic: false }).catch((error: unknown) => {
      log.error({ error: describeWithHint(error) }, 'this worker goes on without /metrics, /healthz and /readyz');
      return undefined;
    });
    if (server) log.info({ url: server.url }, 'listening');
  }
  log.info({ queue: app.queues.kind, worker: `${hostname()}:${process.pid}` }, 'worker ready');
  if (!context.signal.aborted) await once(context.signal, 'abort');
  log.info('stopping: finishing running jobs');
  await opened.disposeAsync();
  log.info('stopped');
  return undefined;
}
