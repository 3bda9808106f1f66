import { ReviewSyncError } from '../base/errors.ts';
import type { SqlWords } from './driver.ts';
import type { QueryName } from './rows.ts';

/** The usual faults of a row that cannot be computed, by SQLSTATE. The database's message would quote the value. */
const conditions: Readonly<Record<string, string>> = {
  '21000': 'a subquery gives more than one row',
  '22003': 'a number is out of the range of its type',
  '22007': 'a text is not a date',
  '22012': 'a division by zero',
  '22021': 'a code or a text has a character that the character set of a column lacks',
  '22032': 'a text is not the JSON that is expected',
  '22P02': 'a text cannot be read as the type that it is cast to',
};

/** The error of a row that the database cannot compute. */
export const uncomputableError = (name: QueryName, sqlState: string) =>
  new ReviewSyncError(
    'shop-query',
    `${name}.sql: a row cannot be read: ${conditions[sqlState] ?? 'a value cannot be computed'} (SQLSTATE ${sqlState})`,
    { hint: 'Correct the row, or let the query give null or false for it.' },
  );

/**
 * Seconds that one statement may run. Replicas cancel longer statements, and a longer one reads far more than a run
 * needs.
 */
export const statementSeconds = 30;

/**
 * The error of a cancelled statement, or the error itself. The database does not say whether our limit or a shorter
 * limit of its user applied. If a standby cancels a statement, a shorter or later one may pass.
 *
 * @param what the file, or other thing that was read. @param seconds the limit of the statement.
 */
export function cancelledError(words: SqlWords, what: string, error: unknown, seconds = statementSeconds): unknown {
  if (words.isConflict(error))
    return new ReviewSyncError(
      'shop-conflict',
      `${what}: the shop's standby cancelled a statement (conflict with recovery)`,
      {
        hint: 'It happens less with hot_standby_feedback = on, or a longer max_standby_streaming_delay, on the standby.',
      },
    );
  if (!words.isTimeout(error)) return error;
  return new ReviewSyncError(
    'shop-timeout',
    `${what}: one statement took longer than ${seconds} s, or than a limit of the database`,
    {
      hint:
        'review-sync doctor measures the shop queries, and names the index that helps; docs/connecting.md shows a change ' +
        'feed. ORDER_BATCH_SIZE is how many orders one statement looks for.',
    },
  );
}

const hasCode = (error: unknown, ...codes: readonly string[]) =>
  error instanceof ReviewSyncError && codes.includes(error.code);

/** Whether a standby cancelled a statement. */
export const isShopConflict = (error: unknown) => hasCode(error, 'shop-conflict');

/** Whether a statement was cancelled, because it took too long or by a standby. */
export const isShopCancelled = (error: unknown) => hasCode(error, 'shop-timeout', 'shop-conflict');

/** Whether the database cannot compute a row. */
export const isUncomputable = (error: unknown) => hasCode(error, 'shop-query');

/** Whether one row may be to blame: the same statement on other rows may pass. */
export const isShopFault = (error: unknown) => isShopCancelled(error) || isUncomputable(error);
