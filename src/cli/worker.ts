import { once } from 'node:events';
import { jobs } from '../../jobs/index.ts';
import { openApp } from '../app.ts';
import { applySchedules, plannedRuns, schedulesOf } from '../queue/schedules.ts';
import type { Command } from './command.ts';
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
most, and hands the rest back. After a crash another worker takes over within half a minute.`,
      )
      .action(() =>
        run(async (context) => {
          const config = context.config();
          const log = context.log();
          const app = await openApp(config, { log });
          try {
            await applySchedules(app.queues, schedulesOf(jobs, config.schedules, config.scheduleTimeZone));
            for (const planned of await plannedRuns(app.queues)) log.info(planned, 'scheduled');
            const running = workerOf(app, ['scheduled', 'runs', 'steps']);
            log.info({ queue: app.queues.kind }, 'worker ready');
            if (!context.signal.aborted) await once(context.signal, 'abort');
            log.info('stopping: finishing what is in hand');
            await running.close();
            log.info('stopped');
          } finally {
            await app.close();
          }
          return undefined;
        }),
      );
  },
};
