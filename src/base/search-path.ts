/**
 * Adds settings to the address of a Postgres database. They override those of server, database and user. In `public`,
 * other users may create functions that match our calls better than the built-in ones and would run with our rights.
 * The driver reads one style of dates. In `read committed`, the second writer of a row waits; in stricter levels, it
 * fails.
 *
 * Settings are a startup option. PgBouncer refuses it unless `ignore_startup_parameters` names `options`. They must
 * then be set on the role; `doctor` checks the search path.
 *
 * @param schemas the schemas for unqualified names, such as `pg_catalog`. Temporary tables are found last.
 */
export function withSearchPath(url: string, schemas: string, settings: Record<string, string> = {}): string {
  const address = new URL(url);
  const given = address.searchParams.get('options');
  const all = Object.entries({
    search_path: `${schemas},pg_temp`,
    datestyle: 'ISO',
    standard_conforming_strings: 'on',
    // A backslash before a space: options are split there.
    default_transaction_isolation: 'read\\ committed',
    ...settings,
  });
  const ours = all.map(([name, value]) => `-c ${name}=${value}`).join(' ');
  address.searchParams.set('options', given === null ? ours : `${given} ${ours}`);
  return address.href;
}
