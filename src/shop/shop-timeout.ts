import { ReviewSyncError } from '../base/errors.ts';

/**
 * Seconds that one statement may run. Replicas cancel longer ones, and a statement that takes longer reads far more
 * than a run needs.
 */
export const statementSeconds = 30;

/**
 * Without the error of the database as its cause, which says less, and whose general hint would take the place of this
 * one.
 *
 * @param what the file, or what else was read.
 * @param seconds the limit of the statement.
 */
export function timeoutError(what: string, seconds = statementSeconds): ReviewSyncError {
  return new ReviewSyncError('shop-timeout', `${what}: one statement took longer than ${seconds} s`, {
    hint:
      'npx review-sync doctor measures the shop queries, and names the index that helps; ' +
      'docs/connecting.md shows a change feed.',
  });
}

/** Whether a statement in the shop was cancelled because it took too long. */
export const isShopTimeout = (error: unknown): error is ReviewSyncError =>
  error instanceof ReviewSyncError && error.code === 'shop-timeout';
