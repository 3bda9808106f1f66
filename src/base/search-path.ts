/**
 * Adds a search path to the address of a Postgres database: every connection looks for unqualified names in `schemas`
 * only. Otherwise Postgres also looks in `public`, where other users may create functions that match our calls better
 * than the built-in ones and would run with our rights. Dates come in the style that the driver reads, whatever the server,
 * the database or the user is set to, and a backslash in a text is one. A transaction sees what others have committed before each
 * of its statements: of two writers one waits, and in any other isolation one would fail.
 *
 * Settings are a startup option. PgBouncer refuses it unless `ignore_startup_parameters` names `options`. They must then
 * be set on the role; `doctor` checks the search path.
 *
 * @param schemas such as `pg_catalog`; temporary tables are found last.
 * @param settings other settings of each connection.
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
