import { once } from 'node:events';
import { applyWebhooks } from '../../jobs/apply-webhooks.ts';
import { jobs } from '../../jobs/index.ts';
import { alertsOf } from '../../jobs/watch-alerts.ts';
import type { App } from '../app.ts';
import { describeError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { applySchedules, plannedRuns, restoreSchedules, type Schedule, schedulesOf } from '../queue/schedules.ts';
import { startServer } from '../server/index.ts';
import type { Command, Context } from './command.ts';
import { openMeasuredApp } from './measured-app.ts';
import { processName } from './process-name.ts';
import { workerOf } from './run-to-end.ts';

export const worker: Command = {
  name: 'worker',
  summary: 'run the jobs and their schedules until told to stop',
  define(commander, run) {
    commander
      .addHelpText(
        'after',
        `
Runs each flow on its cron schedule (SCHEDULE_ORDERS, SCHEDULE_REVIEWS …, in SCHEDULE_TIME_ZONE). Any number of workers
may run; a run that is still going is not started a second time. SIGTERM finishes what is in hand, ten seconds at the
most, and hands the rest back. After a crash another worker takes over within half a minute. With METRICS_PORT there are
/metrics, /healthz and /readyz at HOST; with ALERT_WEBHOOK_URL a message comes when something is wrong, one when it is over.`,
      )
      .action(() => run(work));
  },
};

async function work(context: Context): Promise<undefined> {
  const config = context.config();
  const log = context.log();
  await using opened = new AsyncDisposableStack();
  const { app, metrics } = await openMeasuredApp(config, log, opened);
  const schedules = schedulesOf(jobs, config.schedules, config.scheduleTimeZone);
  await applySchedules(app.queues, schedules);
  const restoring = setInterval(() => void restore(app, schedules), restoreEveryMs);
  opened.defer(() => clearInterval(restoring));
  for (const planned of await plannedRuns(app.queues)) log.info(planned, 'scheduled');
  const alerts = alertsOf(app);
  opened.defer(() => alerts?.close());
  const running = workerOf(app, ['scheduled', 'runs', 'steps'], {
    onStep: metrics.onStep,
    onRun: () => alerts?.wake(),
  });
  const applying = applyWebhooks(app);
  opened.defer(async () => void (await Promise.all([running.close(), applying.close()])));
  if (config.metricsPort !== undefined) {
    const server = await serveMetrics(app, config.metricsPort, metrics);
    opened.defer(() => server.close());
  }
  log.info({ queue: app.queues.kind, worker: processName() }, 'worker ready');
  if (!context.signal.aborted) await once(context.signal, 'abort');
  log.info('stopping: finishing what is in hand');
  await opened.disposeAsync();
  log.info('stopped');
  return undefined;
}

const restoreEveryMs = 60_000;

async function restore({ queues, log }: App, schedules: readonly Schedule[]): Promise<void> {
  try {
    if (await restoreSchedules(queues, schedules)) log.warn('schedules were gone from the queue, and are set again');
  } catch (error) {
    log.warn({ error: describeError(error) }, 'schedules cannot be looked at');
  }
}

async function serveMetrics(app: App, port: number, metrics: Metrics) {
  const { host, trustedProxies, statusToken: token } = app.config;
  const server = await startServer({
    ...{ host, port, trustedProxies, warehouse: app.warehouse, log: app.log },
    ...{ webhooks: undefined, status: undefined, metrics: { token, ...metrics } },
  });
  app.log.info({ url: server.url }, 'listening');
  return server;
}
