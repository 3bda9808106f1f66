import { randomBytes } from 'node:crypto';
import type { App } from '../app/app.ts';
import { differingSystems, ownRights, systemsOf } from '../app/run-rights.ts';
import { ReviewSyncError } from '../base/errors.ts';
import { beginRun, type NewRun, openRuns, type Run, type RunRights, unattendedRuns } from '../warehouse/runs/runs.ts';
import type { AnyRunJob } from './define-run.ts';
import { endLostRuns, endRun } from './end-run.ts';

export type RunRequest = {
  job: AnyRunJob;
  /** Rights that the person asked for beyond this process's settings. */
  asked?: Partial<RunRights>;
  /** The subject of the run: the range of a backfill. At most one run of a key is open. */
  key?: string;
  /** An open run of the key is stopped, not joined. */
  replaces?: boolean;
};

/**
 * Adds the run's job to the queue first, and then its row to the warehouse: no process touches the queue of a run
 * without a row, and a row without a job would block others.
 */
async function begin(app: App, job: AnyRunJob, run: Omit<NewRun, 'job' | 'systems'>) {
  await app.queues.add(job.name, run.id);
  const row = { ...run, job: job.name, systems: systemsOf(app.config, job.readsShop) };
  const isBegun = await beginRun(app.warehouse.db, row);
  if (isBegun) app.log.info({ job: job.name, run: run.id }, 'run started');
  return isBegun;
}

/**
 * Starts a run of a command, or joins the open run of the same key. A backfill of orders ends the open run instead:
 * that run may have read orders before a correction of the queries, and Ctrl-C must leave nothing that mails.
 *
 * @throws ReviewSyncError if the open run of the key was planned for another zone or system.
 */
export async function startRun(app: App, request: RunRequest): Promise<{ id: string; joined: boolean }> {
  const { job, key, replaces = false } = request;
  const { db } = app.warehouse;
  // If a process carries out a run, its queue may differ from the queue of this command.
  await endLostRuns(app, await unattendedRuns(db));
  for (;;) {
    const id = `${job.name}-${Date.now().toString(36)}-${randomBytes(6).toString('hex')}`;
    const rights = ownRights(app.config, request.asked?.trigger ?? job.trigger, request.asked);
    const isBegun = await begin(app, job, { id, key, startedBy: 'command', rights }).catch(async (cause: unknown) => {
      // Perhaps only the response was lost. A worker must not carry out a run that a person believes has failed.
      await endRun(app, id, 'the command that began it failed').catch(() => {
        const message = `The run may have begun, and a worker would carry it out (review-sync runs end ${id} prevents that)`;
        throw new ReviewSyncError('run', message, { cause });
      });
      throw cause;
    });
    if (isBegun) return { id, joined: false };
    await app.queues.drop(id);
    const other = (await openRuns(db)).find((one) => one.key === key);
    if (!other) continue;
    if (replaces) {
      await endRun(app, other.id, 'the same command was run again, which reads everything again');
      continue;
    }
    const [differing] = differingSystems(other.systems, systemsOf(app.config));
    if (!differing) return { id: other.id, joined: true };
    const what = `A run of the same days has not ended, and this process may not continue it: ${differing.what}`;
    const hint = `Correct the setting, or end that run: review-sync runs end ${other.id}`;
    throw new ReviewSyncError('run', what, { hint });
  }
}

/**
 * Starts the run of a job that is due by its schedule.
 *
 * @param dueId names the scheduled time. If a clock is set back, the time comes twice. The second run then has an id of
 *   its own, because otherwise the reads of the first run would count as its own.
 */
export async function startDueRun(app: App, job: AnyRunJob, dueId: string): Promise<void> {
  const { db } = app.warehouse;
  const moment = dueId.replaceAll(/[^\w-]/g, '-');
  const isOfMoment = (run: Run) => run.id === moment;
  const known = await openRuns(db, moment);
  const open = known.filter(({ finishedAt }) => finishedAt === null);
  const left = await endLostRuns(app, open, job.name);
  // The run of this scheduled time is also over if `endLostRuns` has just ended it.
  const isOver = known.some(isOfMoment) && !left.some(isOfMoment);
  const id = isOver ? `${moment}-${randomBytes(6).toString('hex')}` : moment;
  const running = left.find((one) => one.id !== id && one.job === job.name);
  if (!running) await begin(app, job, { id, startedBy: 'schedule', rights: ownRights(app.config, job.trigger) });
  else {
    const facts = { job: job.name, running: running.id, since: running.startedAt };
    app.log.warn(facts, 'not started: the run before it has not ended');
  }
}
