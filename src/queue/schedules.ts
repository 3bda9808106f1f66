import { answered } from './answered.ts';
import type { Queues } from './index.ts';
import type { AnyRunJob } from './job.ts';

export type Schedule = { job: string; pattern: string; timeZone: string };
export type PlannedRun = {
  /** The scheduler's key; ours are named as their jobs. */
  job: string;
  /** The job that it enqueues. */
  enqueues: string;
  pattern: string;
  timeZone: string;
  next: Date | undefined;
};

/** Brings the queue's schedules in line with those given: adds, changes and removes. Safe from several workers at once. */
export async function applySchedules(queues: Queues, schedules: readonly Schedule[]): Promise<void> {
  const queue = queues.bull.scheduled;
  for (const { key } of await queue.getJobSchedulers()) {
    if (!schedules.some((schedule) => schedule.job === key)) await queue.removeJobScheduler(key);
  }
  for (const { job, pattern, timeZone } of schedules) {
    await queue.upsertJobScheduler(job, { pattern, tz: timeZone }, { name: job, data: { payload: {} } });
  }
}

/**
 * Sets the schedules again where none is left: a Redis that came back empty has lost them. Others than ours are let be: in a
 * rolling update two workers would else set them back and forth.
 *
 * @returns whether they were lost.
 */
export async function restoreSchedules(queues: Queues, schedules: readonly Schedule[]): Promise<boolean> {
  if (schedules.length === 0 || (await plannedRuns(queues)).length > 0) return false;
  await applySchedules(queues, schedules);
  return true;
}

/** The schedules as the queue holds them. */
export async function plannedRuns(queues: Queues): Promise<PlannedRun[]> {
  const schedulers = await answered(queues.bull.scheduled.getJobSchedulers());
  return schedulers.map((one) => ({
    job: one.key,
    enqueues: one.name,
    pattern: one.pattern ?? '',
    timeZone: one.tz ?? '',
    next: one.next === undefined ? undefined : new Date(one.next),
  }));
}

/** The jobs of the list that a cron pattern is configured for; an empty pattern turns one off. */
export function schedulesOf(
  jobs: readonly AnyRunJob<never>[],
  patterns: Readonly<Record<string, string>>,
  timeZone: string,
): Schedule[] {
  return jobs.flatMap((job) => {
    const pattern = job.schedule === undefined ? '' : (patterns[job.schedule] ?? '');
    return pattern === '' ? [] : [{ job: job.name, pattern, timeZone }];
  });
}
