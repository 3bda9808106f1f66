import type { App } from '../app/app.ts';
import { sameShop } from '../app/require-same-shop.ts';
import { differingSystems, systemsOf } from '../app/run-rights.ts';
import { describeWithHint, ReviewSyncError } from '../base/errors.ts';
import { withTimeout } from '../base/timeout.ts';
import type { Schedule } from '../queue/schedules.ts';
import { type DueTaker, takeJobs } from '../queue/worker.ts';
import { noteAttended, openRuns, type Run } from '../warehouse/runs/runs.ts';
import type { AnyRunJob } from './define-run.ts';
import { type RunningWorker, type RunWorkerOptions, startRunWorker } from './run-worker.ts';
import { startDueRun } from './start-run.ts';
import type { RunSeats } from './step-slots.ts';

/** State that the workers of all brands of a process share. */
export type SharedWork = { seats: RunSeats; due: DueTaker };

/**
 * Starts a worker that carries out every open run of its zone, shop and service, and starts due runs.
 *
 * @param schedules the schedules that are on. Queue entries of other jobs are ignored.
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

/** A run that is not carried out is checked again after this many milliseconds: its shop may come back. */
const lookAgainMs = 10_000;

/** How long a look waits for the shop, in milliseconds. */
const longestLookMs = 1000;

/**
 * The open runs that this process carries out: runs planned for its zone, its service and, if their steps read the
 * shop, its shop. The process keeps such a run to its end. The warehouse notes who carries a run out.
 */
export function openRunChoice(app: App, jobs: readonly AnyRunJob[]): () => Promise<Run[]> {
  const { db } = app.warehouse;
  /** `why`: why this process does not carry the run out; undefined: it does. */
  const decided = new Map<string, { why: string | undefined; untilMs: number }>();
  const deciding = new Map<string, Promise<void>>();

  async function decide(run: Run): Promise<void> {
    const why = await whyNotOurs(app, jobs, run).catch(describeWithHint);
    if (why !== undefined && why !== decided.get(run.id)?.why)
      app.log.warn({ run: run.id, why }, 'a run is left to other processes');
    const untilMs = why === undefined ? Number.POSITIVE_INFINITY : performance.now() + lookAgainMs;
    decided.set(run.id, { why, untilMs });
    deciding.delete(run.id);
  }

  return async () => {
    const open = await openRuns(db);
    for (const id of decided.keys()) if (!open.some((run) => run.id === id)) decided.delete(id);
    for (const run of open) {
      const known = decided.get(run.id);
      if (deciding.has(run.id) || (known && known.untilMs > performance.now())) continue;
      deciding.set(run.id, decide(run));
    }
    // If a shop does not respond, it must not delay other runs, nor the stop of a run that a person has ended.
    await withTimeout(Promise.all(deciding.values()), longestLookMs, () => new Error('late')).catch(() => {});
    const ours = open.filter(({ id }) => decided.has(id) && decided.get(id)?.why === undefined);
    await noteAttended(
      db,
      ours.map(({ id }) => id),
      app.currentWait(),
    );
    return ours;
  };
}

/**
 * Why this process may not carry a run out. Undefined: it may. The address of the shop proves nothing: a replica has
 * another address, and a copy may have the same. The shop must show the orders that were pushed.
 *
 * @throws the errors of the shop.
 */
async function whyNotOurs(app: App, jobs: readonly AnyRunJob[], { job, systems }: Run): Promise<string | undefined> {
  const definition = jobs.find(({ name }) => name === job);
  if (!definition) return 'this version does not know the job';
  const differing = differingSystems(systems, systemsOf(app.config));
  const other = differing.find(({ name }) => name !== 'shop');
  if (other || !definition.readsShop) return other?.what;
  const { verdict } = await sameShop({ shop: app.shop, db: app.warehouse.db });
  if (verdict === 'other') return 'SHOP_DATABASE_URL shows none of the orders that were pushed';
  return verdict === 'unknown' ? differing[0]?.what : undefined;
}
