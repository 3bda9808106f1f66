import { ReviewSyncError } from '../base/errors.ts';

/**
 * Seconds that one statement may run. Replicas cancel longer ones, and a statement that takes longer reads far more
 * than a run needs.
 */
export const statementSeconds = 30;

/**
 * The database says that a statement was cancelled, and not whether for our limit or for a shorter one of its user.
 *
 * @param what the file, or what else was read. @param seconds the limit of the statement.
 */
export function timeoutError(what: string, seconds = statementSeconds): ReviewSyncError {
  return new ReviewSyncError(
    'shop-timeout',
    `${what}: one statement took longer than ${seconds} s, or than a limit of the database`,
    {
      hint:
        'review-sync doctor measures the shop queries, and names the index that helps; ' +
        'docs/connecting.md shows a change feed.',
    },
  );
}

/** The same for a statement that a standby cancelled: a shorter one may pass, and so may this one later. */
export function conflictError(what: string, cause: unknown): ReviewSyncError {
  return new ReviewSyncError(
    'shop-conflict',
    `${what}: the shop's standby cancelled a statement (conflict with recovery)`,
    {
      cause,
      hint: 'It happens less with hot_standby_feedback = on, or a longer max_standby_streaming_delay, on the standby.',
    },
  );
}

/** @param what was looked for, as `the next 500 orders`. @param column by which. */
export function tooManyAtOnce(what: string, column: string, cause: ReviewSyncError): ReviewSyncError {
  return new ReviewSyncError('shop-timeout', `${cause.message}, to find ${what} by ${column}`, {
    cause,
    hint:
      `An index of the table on the column of ${column}, or ${column} as that column itself in the query, ` +
      `lets it stop after these rows; ORDER_BATCH_SIZE is how many. ${cause.hint}`,
  });
}

/** Whether a statement in the shop was cancelled, because it took too long or by a standby. */
export const isShopTimeout = (error: unknown): error is ReviewSyncError =>
  isShopConflict(error) || (error instanceof ReviewSyncError && error.code === 'shop-timeout');

/** Whether a standby cancelled it. */
export const isShopConflict = (error: unknown): error is ReviewSyncError =>
  error instanceof ReviewSyncError && error.code === 'shop-conflict';
