import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { describeError, UsageError } from '../errors.ts';
import { columnFaults, contract, type QueryName } from './contract.ts';

/** A shop query that was checked against the contract, wrapped so that every column of the contract is there. */
export type ShopQuery = Readonly<{
  /** `select` of all columns of the contract, to be used as `from (${sql}) q`. */
  sql: string;
}>;

/**
 * Reads `<name>.sql` from the folder and checks its columns against the contract. Changes nothing.
 *
 * @returns undefined where the file is absent.
 * @throws UsageError naming file, column, the type found and the mend; or the database's words on the query.
 */
export async function loadShopQuery(
  client: pg.ClientBase,
  folder: string,
  name: QueryName,
): Promise<ShopQuery | undefined> {
  const file = join(folder, `${name}.sql`);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`The shop query ${file} cannot be read`, { cause: error });
  });
  if (text === undefined) return undefined;
  // A comment may end the file: the closing bracket goes on a line of its own.
  const body = `(\n${text.replace(endingSemicolon, '$1')}\n)`;
  const found = await describeColumns(client, body).catch((cause) => {
    const where = position(cause, text);
    throw new UsageError(`The shop query ${file} cannot be run${where}: ${describeError(cause)}`, {
      hint: isWithheld(cause)
        ? 'Grant the user of SHOP_DATABASE_URL select on it, and usage on its schema.'
        : 'It must be one SELECT that the user of SHOP_DATABASE_URL may run as it stands.',
    });
  });
  const faults = columnFaults(name, found);
  if (faults.length > 0) {
    throw new UsageError(`The shop query ${file} does not keep to the contract:\n  ${faults.join('\n  ')}`);
  }
  const columns = contract[name].map((column) =>
    found.some((one) => one.name === column.name) ? `w.${column.name}` : `null::${column.kind} as ${column.name}`,
  );
  return { sql: `select ${columns.join(', ')} from ${body} w` };
}

/** The last semicolon, where nothing but comments follows it. */
const endingSemicolon = /;((?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*)$/;

async function describeColumns(client: pg.ClientBase, body: string): Promise<{ name: string; type: string }[]> {
  const { fields } = await client.query(`select * from ${body} w limit 0`);
  const { rows } = await client.query<{ oid: number; name: string }>(
    'select oid::integer as oid, typname as name from pg_type where oid = any($1::oid[])',
    [fields.map((field) => field.dataTypeID)],
  );
  const names = new Map(rows.map((row) => [Number(row.oid), row.name]));
  return fields.map((field) => ({ name: field.name, type: names.get(field.dataTypeID) ?? `oid ${field.dataTypeID}` }));
}

/** The line of the user's file that the database points at. */
function position(error: unknown, text: string): string {
  if (!(error instanceof pg.DatabaseError) || error.position === undefined) return '';
  const offset = Number(error.position) - 'select * from (\n'.length - 1;
  return offset < 0 || offset > text.length ? '' : ` (line ${text.slice(0, offset).split('\n').length})`;
}

const isWithheld = (error: unknown) => error instanceof Error && 'code' in error && error.code === '42501';
