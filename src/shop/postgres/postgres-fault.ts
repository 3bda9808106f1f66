import pg from 'pg';
import type { DataFault } from '../session.ts';

/**
 * What of an error the data of a row caused; undefined: the error has another cause. The database's message is not
 * taken over: it quotes the value.
 */
export function dataFaultOf(error: unknown): DataFault | undefined {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return undefined;
  if (!/^(21|22|P0|XX00[12])/.test(error.code)) return undefined;
  return { sqlState: error.code, what: conditions[error.code] ?? 'a value cannot be computed' };
}

/** Whether a statement was cancelled, as it is after `statementSeconds`. */
export const isTimeout = (error: unknown) => error instanceof pg.DatabaseError && error.code === '57014';

/** The usual conditions of a row that cannot be computed, by SQLSTATE. */
const conditions: Readonly<Record<string, string>> = {
  '21000': 'a subquery gives more than one row',
  '22001': 'a text is too long for its type',
  '22003': 'a number is out of the range of its type',
  '22007': 'a text is not a date',
  '22008': 'a date or an interval is out of range',
  '22012': 'a division by zero',
  '22021': 'a text holds a character that the database cannot store',
  '22023': 'a function is called with a value that it does not take',
  '22030': 'a JSON object has a key twice',
  '22032': 'a text is not JSON',
  '22P02': 'a text cannot be read as the type that it is cast to',
  '22P05': 'a text holds a character (such as \\u0000) that the database cannot convert',
  P0001: 'a function of the shop raises an error',
};
