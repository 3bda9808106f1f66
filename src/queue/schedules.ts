import { setTimeout as delay } from 'node:timers/promises';
import { ErrorCode } from 'bullmq';
import { describeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { repeat } from '../base/timeout.ts';
import { respondsInTime } from './connection.ts';
import { dueIds, isAliveIn, type Queues, runAttempts } from './index.ts';
import { nextRun } from './next-run.ts';

export type Schedule = { job: string; pattern: string; timeZone: string };
export type PlannedRun = Schedule & { next: Date | undefined };

/** If a run is due while the warehouse is down, it is retried for 68 minutes: a nightly run is due only once a day. */
const dueAttempts = { ...runAttempts, attempts: 13 };

/**
 * Adds, changes and removes schedules until the queue holds exactly these. Safe from several workers at once. If a run
 * fell due while no worker ran, it stays. Setting its schedule again would postpone it to the next time, and a machine
 * that is off every night would never run it.
 *
 * @throws ReviewSyncError when the queue does not respond within five seconds.
 */
export const applySchedules = (queues: Queues, schedules: readonly Schedule[]): Promise<void> =>
  respondsInTime(untilSet(queues, schedules));

/** If two workers set a schedule at the same time, BullMQ refuses one, or Postgres ends a deadlock. */
const setElsewhere: readonly unknown[] = [ErrorCode.SchedulerJobIdCollision, '40P01'];

async function untilSet(queues: Queues, schedules: readonly Schedule[], tries = 5): Promise<void> {
  try {
    await setSchedules(queues, schedules);
  } catch (error) {
    if (tries === 1 || !setElsewhere.includes((error as { code?: unknown }).code)) throw error;
    await delay(200 * Math.random());
    await untilSet(queues, schedules, tries - 1);
  }
}

async function setSchedules(queues: Queues, schedules: readonly Schedule[]): Promise<void> {
  const { scheduled: queue, prefix } = queues;
  const known = await ownSchedulers(queues);
  for (const { key } of known) {
    if (!schedules.some((schedule) => prefix + schedule.job === key)) await queue.removeJobScheduler(key);
  }
  for (const { job: ownName, pattern, timeZone } of schedules) {
    const job = prefix + ownName;
    const same = known.find((one) => one.key === job && one.pattern === pattern && one.tz === timeZone);
    const isDue = same?.next !== undefined && same.next <= Date.now();
    if (isDue && (await isAliveIn(queue, `${dueIds}${job}:${same.next}`))) continue;
    await queue.upsertJobScheduler(
      job,
      { pattern, tz: timeZone },
      // The id of a scheduled run is its scheduled time. If a clock was ahead, that time comes again, and BullMQ would
      // start no run while a job of that id exists. The history of runs is in the warehouse.
      { name: job, data: {}, opts: { ...dueAttempts, removeOnComplete: true, removeOnFail: true } },
    );
  }
}

/** If a run is overdue by more than this, in milliseconds, no worker took it. */
export const lateMs = 60_000;

/** Clocks of two machines differ by less than this. A time further ahead comes from a wrong clock. */
export const clockErrorMs = 3_600_000;

/** Whether the next run is later than its pattern says: a clock was ahead when the previous run was taken. */
export const isTooFarAhead = (planned: PlannedRun, now: Date): boolean =>
  planned.pattern !== '' && planned.next !== undefined && planned.next > nextRun(planned, now.getTime() + clockErrorMs);

/**
 * Whether a schedule starts no run by itself: a clock was ahead, or a Redis that drops keys has lost a part of it. If
 * Redis has lost all of it, the schedule is not listed, like one that another worker has turned off.
 */
async function isBroken(queues: Queues, planned: PlannedRun): Promise<boolean> {
  const { job, pattern, next } = planned;
  if (pattern === '' || next === undefined || isTooFarAhead(planned, new Date())) return true;
  if (next.getTime() > Date.now() - lateMs) return false;
  return !(await isAliveIn(queues.scheduled, `${dueIds}${queues.prefix}${job}:${next.getTime()}`));
}

/**
 * Looks now and every `everyMs` milliseconds whether the queue still has schedules, and sets these if it has none: a
 * Redis that restarts empty has lost them, and no run would start until a worker restarts. Other schedules stay: in a
 * rolling update, two workers would otherwise change them back and forth. If a schedule is broken, the schedules of the
 * queue are set again as they are.
 *
 * @returns `close` ends this after the current look. Close the queue only then, because the look needs it.
 */
export function watchSchedules(
  { queues, log }: { queues: Queues; log: Logger },
  schedules: readonly Schedule[],
  everyMs = 60_000,
): { close(): Promise<void> } {
  return repeat(everyMs, async () => {
    try {
      if (schedules.length === 0) return;
      const planned = await plannedRuns(queues);
      const broken = await Promise.all(planned.map((run) => isBroken(queues, run)));
      if (planned.length > 0 && !broken.includes(true)) return;
      const own = ({ job }: Schedule) => schedules.filter((one) => one.job === job);
      const kept = planned.flatMap((run) => (run.pattern === '' ? own(run) : run));
      await applySchedules(queues, planned.length > 0 ? kept : schedules);
      log.warn({ planned }, 'the queue had lost the schedules, or a clock was ahead; they are set again');
    } catch (error) {
      log.warn({ error: describeError(error) }, 'the schedules cannot be read');
    }
  });
}

/** The schedules of this brand: other brands have theirs in the same queue. */
const ownSchedulers = async ({ schedulers, prefix }: Queues) =>
  (await schedulers()).filter(({ key }) => key.startsWith(prefix));

/** The schedules in the queue. */
export async function plannedRuns(queues: Queues): Promise<PlannedRun[]> {
  const schedulers = await respondsInTime(ownSchedulers(queues));
  return schedulers.map((one) => ({
    job: one.key.slice(queues.prefix.length),
    pattern: one.pattern ?? '',
    timeZone: one.tz ?? '',
    next: one.next === undefined ? undefined : new Date(one.next),
  }));
}

/** The schedules of the jobs that have a cron pattern. An empty pattern turns a schedule off. */
export function schedulesOf(
  jobs: readonly { name: string; schedule?: string }[],
  { schedules, scheduleTimeZone }: { schedules: Readonly<Record<string, string>>; scheduleTimeZone: string },
): Schedule[] {
  return jobs.flatMap((job) => {
    const pattern = job.schedule === undefined ? '' : (schedules[job.schedule] ?? '');
    return pattern === '' ? [] : [{ job: job.name, pattern, timeZone: scheduleTimeZone }];
  });
}
