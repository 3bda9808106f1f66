import { describeError, hintOf } from '../../base/errors.ts';

/** A result of a `doctor` check. */
export type Finding = {
  level: 'ok' | 'warning' | 'fault';
  what: string;
  /** The next step. Warnings and faults have one. */
  hint?: string;
};

export const ok = (what: string): Finding => ({ level: 'ok', what });
export const warning = (what: string, hint: string): Finding => ({ level: 'warning', what, hint });
export const fault = (what: string, hint: string): Finding => ({ level: 'fault', what, hint });

/** A fault of a database, with the driver's error. @param variable the environment variable that names the database. */
export function databaseFault(doing: string, error: unknown, variable: string): Finding {
  const hint = isMissing(error)
    ? 'a table or column is missing: restore it, or restore the warehouse from a backup'
    : (hintOf(error)?.replace('its address', variable) ?? `check whether ${variable} names the right server`);
  return fault(`${doing}: ${describeError(error)}`, hint);
}

/** SQLSTATE of a table, column or schema that does not exist. */
const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && ['42P01', '42703', '3F000'].includes(String(error.code))) || isMissing(error.cause));
