import { ReviewSyncError } from '../base/errors.ts';

/**
 * Seconds that one statement may run. Replicas cancel longer ones, and a statement that takes longer reads far more than a
 * run needs.
 */
export const statementSeconds = 30;

/** @param what the file, or what else was read. @param seconds the limit of the statement. */
export function timeoutError(what: string, cause: unknown, seconds = statementSeconds): ReviewSyncError {
  return new ReviewSyncError('shop-timeout', `${what}: one statement took longer than ${seconds} s`, {
    cause,
    hint: 'npx review-sync doctor measures the shop queries, and names the index that helps; docs/connecting.md shows a change feed.',
  });
}

/** Whether a statement in the shop was cancelled because it took too long. */
export const isShopTimeout = (error: unknown): error is ReviewSyncError =>
  error instanceof ReviewSyncError && error.code === 'shop-timeout';
