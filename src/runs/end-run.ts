import type { App } from '../app/app.ts';
import { differingSystems, systemsOf } from '../app/run-rights.ts';
import { ReviewSyncError } from '../base/errors.ts';
import { withTimeout } from '../base/timeout.ts';
import type { Queues } from '../queue/index.ts';
import type { Schedule } from '../queue/schedules.ts';
import { warehouseNow } from '../warehouse/index.ts';
import { finishRun, isUnattended, openRuns, type Run } from '../warehouse/runs/runs.ts';

/**
 * Ends a run that has not ended. If a process carries the run out, it stops within a second and drops the queue.
 * Otherwise this function drops the queue. @returns false if no open run has this id.
 */
export async function endRun(
  app: Pick<App, 'warehouse'> & { queues: Pick<Queues, 'drop'> },
  id: string,
  error: string,
  outcome: 'abandoned' | 'failed' = 'abandoned',
): Promise<boolean> {
  const isEnded = await finishRun(app.warehouse.db, id, { outcome, error });
  if (isEnded) await app.queues.drop(id).catch(() => {});
  return isEnded;
}

/** Ends the run of a stopped command on all workers, within 1.5 s: a command ends two seconds after its signal. */
export async function endInterrupted(app: App, id: string): Promise<void> {
  const error = 'a command was stopped by Ctrl-C, SIGTERM or the end of its terminal. Run it again to continue';
  const end = finishRun(app.warehouse.db, id, { outcome: 'abandoned', error });
  const late = () => new ReviewSyncError('warehouse', 'The warehouse did not respond');
  await withTimeout(end, 1500, late).catch((cause: unknown) => {
    const message = 'Interrupted, but the run could not be ended: the next worker continues it';
    throw new ReviewSyncError('run', message, { cause });
  });
}

/** Ends the open scheduled runs of jobs with a schedule that is off here. */
export async function endRunsOfSchedulesOff(app: App, schedules: readonly Schedule[]): Promise<void> {
  const { db } = app.warehouse;
  for (const run of await openRuns(db)) {
    if (run.startedBy !== 'schedule' || schedules.some(({ job }) => job === run.job)) continue;
    await endRun(app, run.id, 'its schedule is off');
    app.log.warn({ job: run.job, run: run.id }, 'ended: its schedule is off');
  }
}

/**
 * Ends open runs that no process can carry out any more, so that they do not block other runs. Nothing is lost: the
 * next run reads the same again.
 *
 * @param dueJob the job that is due: a run that no process may continue must not block its schedule permanently.
 * @returns the remaining open runs.
 */
export async function endLostRuns(app: App, open: readonly Run[], dueJob?: string): Promise<Run[]> {
  if (open.length === 0) return [];
  // Do not use this machine's clock: if it is ahead, it would stop the runs of all others.
  const now = await warehouseNow(app.warehouse.db);
  const left: Run[] = [];
  for (const run of open) {
    const end = await lostEnd(app, run, now, run.job === dueJob);
    if (end) await endRun(app, run.id, end.error, end.outcome);
    else left.push(run);
  }
  return left;
}

/** A worker that restarts continues its runs within this time, in milliseconds. */
const restartMs = 60_000;

async function lostEnd(app: App, run: Run, now: Date, isDue: boolean) {
  if (!(await app.queues.isAlive(run.id))) {
    const error = 'its job is not in the queue of QUEUE_URL. Nothing is lost; run it again';
    return { outcome: 'failed', error } as const;
  }
  if (!isDue || !isUnattended(run, now, restartMs)) return undefined;
  const [differing] = differingSystems(run.systems, systemsOf(app.config));
  const error = `nobody continues it, and this process may not: ${differing?.what}`;
  return differing && ({ outcome: 'abandoned', error } as const);
}
