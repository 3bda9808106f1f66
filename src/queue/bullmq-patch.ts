import { setTimeout as delay } from 'node:timers/promises';
import { ReviewSyncError } from '../base/errors.ts';

/**
 * Replaces methods of BullMQ's Worker, written for 6.7. Remove this file once a BullMQ worker pauses after any failed
 * request for a job (as in its predecessor: github.com/OptimalBits/bull/issues/1304), and looks for delayed jobs on
 * Postgres at a configurable interval.
 */
const writtenFor = '6.7';

/** The pause after a failed request for a job, in milliseconds. */
const errorDelayMs = 1000;

/** A waiting worker looks for jobs at least this often, as BullMQ does by default if no job is delayed. */
const longestWaitSeconds = 5;

type Patched = { moveToActive(...given: unknown[]): Promise<unknown>; maximumBlockTimeout: number };

/**
 * Keeps a worker from asking a failing server thousands of times a second, and from sleeping for an hour.
 *
 * @param onTaken called after each successful request to the server.
 * @throws ReviewSyncError if this version of BullMQ lacks the replaced methods.
 */
export function patchWorker(worker: object, onTaken: () => void): void {
  const own = worker as Patched;
  const { moveToActive } = own;
  if (typeof moveToActive !== 'function' || !('maximumBlockTimeout' in own)) {
    throw new ReviewSyncError('queue', `This version of BullMQ is not the one that is adapted here, ${writtenFor}`, {
      hint: 'Install the version of package-lock.json (npm ci), or report it.',
    });
  }
  // Unless the connection is refused, BullMQ requests the next job again at once, thousands of times a second. A full
  // Redis, and a Postgres that takes no connections, respond with other errors.
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
  // On Postgres, BullMQ would wait up to an hour after a failed wait. No notification comes when a delayed job is due,
  // and the request for its due time may also fail while a server restarts.
  Object.defineProperty(worker, 'maximumBlockTimeout', { value: longestWaitSeconds });
}
