import { ReviewSyncError } from '../errors.ts';

const usualPatienceMs = 5000;

/**
 * What a person or a probe waits for. BullMQ's own connection would wait for a server that is down for ever, which is right
 * for jobs.
 *
 * @throws ReviewSyncError when there is no answer in time.
 */
export async function answered<T>(asked: Promise<T>, patienceMs = usualPatienceMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const what = `The queue (QUEUE_URL) gave no answer within ${patienceMs / 1000} seconds`;
      reject(
        new ReviewSyncError('queue', what, { hint: 'Start its server; jobs that are in it go on by themselves.' }),
      );
    }, patienceMs);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
