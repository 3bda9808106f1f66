import { describeError } from '../base/errors.ts';
import { withTimeout } from '../base/timeout.ts';
import type { Queues } from '../queue/index.ts';
import type { Db } from '../warehouse/index.ts';
import { windowTotals } from '../warehouse/reviews/export-windows.ts';
import type { Run } from '../warehouse/runs/runs.ts';

/** How far a run is. `steps` is undefined where the queue cannot say; `unknown` is why. */
export type RunProgress = {
  run: Run;
  steps: { planned: number | undefined; ended: number } | undefined;
  unknown: string | undefined;
  /** Spans of reviews that it has read and proven so far. */
  read: { windows: number; reviews: number; requests: number };
};

/** Runs in progress that are looked at. More than a handful is a queue full of commands. */
const mostRuns = 5;
const queueTimeoutMs = 2000;

/** How far the unfinished ones of the runs are. Neither shop nor service is used. */
export async function runProgress(
  queues: Pick<Queues, 'progress'>,
  db: Db,
  runs: readonly Run[],
): Promise<RunProgress[]> {
  const open = runs.filter(({ finishedAt }) => finishedAt === null).slice(0, mostRuns);
  return Promise.all(
    open.map(async (run): Promise<RunProgress> => {
      const read = await windowTotals(db, run.id);
      try {
        const late = () => new Error('the queue did not respond in time');
        const { planned, ended, state } = await withTimeout(queues.progress(run.id), queueTimeoutMs, late);
        if (state === 'lost') return { run, steps: undefined, unknown: 'its job is no longer in the queue', read };
        return { run, steps: { planned, ended }, unknown: undefined, read };
      } catch (error) {
        return { run, steps: undefined, unknown: describeError(error), read };
      }
    }),
  );
}

/** What is known of the speed of a run. `secondsLeft` is undefined where nobody can know. */
export type Pace = { seconds: number; reviewsPerSecond: number | undefined; secondsLeft: number | undefined };

/**
 * The speed of a run and the time that it needs for its other steps at the same speed.
 *
 * @param plansInBatches the run plans further steps when these have ended, so that the time left is not known.
 */
export function paceOf({ run, steps, read }: RunProgress, now: Date, plansInBatches: boolean): Pace {
  const seconds = Math.max(0, (now.getTime() - run.startedAt.getTime()) / 1000);
  const { planned, ended = 0 } = steps ?? {};
  const isKnown = planned !== undefined && ended > 0 && !plansInBatches;
  return {
    seconds,
    reviewsPerSecond: read.reviews > 0 && seconds > 0 ? read.reviews / seconds : undefined,
    secondsLeft: isKnown ? (seconds / ended) * Math.max(0, planned - ended) : undefined,
  };
}
