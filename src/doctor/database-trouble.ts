import { describeError } from '../errors.ts';
import { type Finding, fault } from '../finding.ts';

/** What a database or its driver says, and what to do about it; by SQLSTATE or by the system's code. */
const mends: readonly [pattern: RegExp, mend: (variable: string) => string][] = [
  [/^28/, (variable) => `correct user and password in ${variable}, or let the server accept them (pg_hba.conf)`],
  [/^3D000/, (variable) => `create the database, or correct its name in ${variable}`],
  [/^42501/, () => 'grant the user this right, or migrate and run as the same user'],
  [/^(42P01|42703|3F000)/, () => 'a table or column is gone: restore it, or restore the warehouse from a backup'],
  [/^53100/, () => 'the disk of the server is full: make room; nothing is lost, the next run goes on'],
  [/^53300/, () => 'too many connections: raise max_connections or run fewer processes'],
  [/^(25006|57P03)/, () => 'the server takes no writes now: point at the primary, or wait until it is up'],
  [/^ECONNREFUSED/, (variable) => `start the server, or correct host and port in ${variable}`],
  [/^(ENOTFOUND|EAI_AGAIN)/, (variable) => `correct the host name in ${variable}, or mend the name server`],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)/, (variable) => `open the firewall, or correct host and port in ${variable}`],
];

/** A fault in the database's own words. @param variable the one that names the database. */
export function databaseFault(doing: string, error: unknown, variable: string): Finding {
  const code = codeOf(error);
  const [, mend] = mends.find(([pattern]) => pattern.test(code)) ?? [];
  return fault(
    `${doing}: ${describeError(error)}`,
    mend?.(variable) ?? `see whether ${variable} names the right server`,
  );
}

/** The first code on the chain of causes; a refused connection to several addresses hides it one level deeper. */
function codeOf(error: unknown): string {
  for (
    let at = error;
    at instanceof Error;
    at = at.cause ?? (at instanceof AggregateError ? at.errors[0] : undefined)
  ) {
    if ('code' in at && typeof at.code === 'string' && /^([0-9A-Z]{5}|E[A-Z_]+)$/.test(at.code)) return at.code;
  }
  return '';
}
