import { setTimeout as delay } from 'node:timers/promises';
import { ReviewSyncError } from '../base/errors.ts';

/**
 * The methods of BullMQ's Worker that have to be replaced, written for 6.7. It can go once a worker of BullMQ pauses after any failed
 * question for a job (the same in its predecessor: github.com/OptimalBits/bull/issues/1304), and looks for delayed jobs on
 * Postgres at an interval that can be set.
 */
const writtenFor = '6.7';

/** Between two questions for a job if the first one failed, in milliseconds. */
const errorDelayMs = 1000;

/** A worker that waits looks for jobs at least this often, as BullMQ does by itself if no job is delayed. */
const longestWaitSeconds = 5;

type Patched = { moveToActive(...given: unknown[]): Promise<unknown>; maximumBlockTimeout: number };

/**
 * Keeps a worker from asking a failing server thousands of times a second, and from sleeping for an hour.
 *
 * @param onTaken called whenever the server could be asked.
 * @throws ReviewSyncError if this version of BullMQ does not have what is replaced.
 */
export function patchWorker(worker: object, onTaken: () => void): void {
  const own = worker as Patched;
  const { moveToActive } = own;
  if (typeof moveToActive !== 'function' || !('maximumBlockTimeout' in own)) {
    throw new ReviewSyncError('queue', `This version of BullMQ is not the one that is adapted here, ${writtenFor}`, {
      hint: 'Install the version of package-lock.json (npm ci), or report it.',
    });
  }
  // BullMQ asks for the next job again at once, thousands of times a second, unless the connection is refused: a Redis that
  // is full and a Postgres that takes no connections answer with other errors.
  const takeNext = (...given: unknown[]) =>
    moveToActive.apply(worker, given).then(
      (job) => {
        onTaken();
        return job;
      },
      async (error: unknown) => {
        await delay(errorDelayMs);
        throw error;
      },
    );
  Object.defineProperty(worker, 'moveToActive', { value: takeNext });
  // On Postgres, BullMQ would wait up to an hour after a wait that failed: nobody is notified when a delayed job is due, and
  // the question when that is may fail too while a server restarts.
  Object.defineProperty(worker, 'maximumBlockTimeout', { value: longestWaitSeconds });
}
