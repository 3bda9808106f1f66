import type { App } from '../app/app.ts';
import { ReviewSyncError } from '../base/errors.ts';
import type { Schedule } from '../queue/schedules.ts';
import { type DueTaker, takeJobs } from '../queue/worker.ts';
import { openRunChoice } from './choose-runs.ts';
import type { AnyRunJob } from './job.ts';
import { type RunningWorker, type RunWorkerOptions, startRunWorker } from './run-worker.ts';
import { startDueRun } from './start-run.ts';
import type { RunSeats } from './step-slots.ts';

/** What the workers of all brands of a process share. */
export type SharedWork = { seats: RunSeats; due: DueTaker };

/**
 * Starts a worker that carries out every open run of its zone, shop and service, and starts those that are due by their
 * schedule.
 *
 * @param schedules those that are on: what the queue has of another job is ignored.
 * @throws ReviewSyncError when the queue does not respond.
 */
export function startWorker(
  app: App,
  jobs: readonly AnyRunJob[],
  schedules: readonly Schedule[],
  { shared, ...options }: Pick<RunWorkerOptions, 'onStep' | 'everyMs'> & { shared?: SharedWork | undefined } = {},
): Promise<RunningWorker> {
  async function startDue(jobName: string, dueId: string): Promise<void> {
    const job = schedules.some((on) => on.job === jobName) && jobs.find(({ name }) => name === jobName);
    if (job) await startDueRun(app, job, dueId);
    else app.log.warn({ job: jobName }, 'due, and not started: its schedule is off in this process');
  }
  return startRunWorker(app, {
    jobs,
    ...options,
    seats: shared?.seats,
    runsToCarryOut: openRunChoice(app, jobs),
    async takeDue(taking) {
      try {
        if (shared) return await shared.due.take(app.queues, startDue);
        const { name } = app.queues.scheduled;
        return await takeJobs({ ...taking, concurrency: 1 }, name, (job) => startDue(job.name, String(job.id)));
      } catch (cause) {
        throw new ReviewSyncError('queue', 'The queue (QUEUE_URL) cannot be used', { cause });
      }
    },
  });
}
