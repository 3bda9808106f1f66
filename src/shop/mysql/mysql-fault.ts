import type { DataFault } from '../session.ts';

/**
 * An error of mysql2, as far as it is looked at: of the server (`errno`, `sqlState`) or of the connection (`code`
 * alone).
 */
type DriverError = Error & { code?: string; errno?: number; sqlState?: string };

/**
 * 1205: a lock is held for longer than we wait; 1412: a table was altered since the transaction began; 1927: the
 * connection was killed. Their SQLSTATEs (HY000, 70100) do not say that the same statement may succeed a moment later.
 * They get that of a rollback.
 */
const passing = [1205, 1412, 1927];

/**
 * An error of the driver without the statement, which holds codes of orders: loggers write all fields of an error. An
 * error about a value (SQLSTATE class 22) loses what it quotes.
 */
export function withoutStatement(error: unknown): unknown {
  if (!(error instanceof Error) || !('sql' in error || 'sqlMessage' in error)) return error;
  const { message, code, errno, sqlState } = error as DriverError;
  const shown = sqlState?.startsWith('22') ? message.replaceAll(/'.*'/gs, '…') : message;
  return Object.assign(new Error(shown), {
    ...(code !== undefined && { code }),
    ...(errno !== undefined && { errno }),
    ...(sqlState !== undefined && { sqlState: passing.includes(errno ?? 0) ? '40001' : sqlState }),
  });
}

/**
 * What of an error the data of a row caused; undefined: the error has another cause. The database's message is not
 * taken over: it quotes the value.
 */
export function dataFaultOf(error: unknown): DataFault | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errno, sqlState } = error as DriverError;
  if (errno === undefined || sqlState === undefined || !/^(21|22|45)/.test(sqlState)) return undefined;
  return { sqlState, what: conditions[sqlState] ?? 'a value cannot be computed' };
}

/** 3024: MySQL's max_execution_time; 1969: MariaDB's max_statement_time; 1317: `kill query`. */
const timeouts = [3024, 1969, 1317];

/** Whether a statement was cancelled, as it is after `statementSeconds`. */
export const isTimeout = (error: unknown): boolean =>
  error instanceof Error && timeouts.includes((error as DriverError).errno ?? 0);

/** 1142, 1143: the user may not select the table or the column. */
export const isWithheld = (error: unknown): boolean =>
  error instanceof Error && [1142, 1143].includes((error as DriverError).errno ?? 0);

/** 1345: EXPLAIN of a view needs rights on its tables, which a SELECT does not need. */
export const isHiddenPlan = (error: unknown): boolean =>
  error instanceof Error && (error as DriverError).errno === 1345;

/**
 * 1267, 1270, 1271: a text cannot be compared with a column, because it has letters that the column's character set
 * lacks.
 */
export const isUnknownLetter = (error: unknown): boolean =>
  error instanceof Error && [1267, 1270, 1271].includes((error as DriverError).errno ?? 0);

/** The usual conditions of a row that cannot be computed, by SQLSTATE. */
const conditions: Readonly<Record<string, string>> = {
  '21000': 'a subquery gives more than one row',
  '22001': 'a text is too long for its type',
  '22003': 'a number is out of the range of its type',
  '22007': 'a text is not a date',
  '22032': 'a text is not JSON',
  '45000': 'a function of the shop raises an error',
};
