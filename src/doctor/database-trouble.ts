import { adviceOf, describeError } from '../errors.ts';
import { type Finding, fault } from '../finding.ts';

/** A fault in plain words, with the database's own. @param variable the one that names the database. */
export function databaseFault(doing: string, error: unknown, variable: string): Finding {
  return fault(`${doing}: ${describeError(error)}`, mendOf(error, variable));
}

function mendOf(error: unknown, variable: string): string {
  if (isGone(error)) return 'a table or column is gone: restore it, or restore the warehouse from a backup';
  return adviceOf(error)?.replace('its address', variable) ?? `see whether ${variable} names the right server`;
}

const isGone = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && /^(42P01|42703|3F000)$/.test(String(error.code))) || isGone(error.cause));
