import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import pg from 'pg';
import { describeError, ReviewSyncError, UsageError } from '../base/errors.ts';
import { selectOf } from './queries.ts';
import { withoutSchema } from './sql-text.ts';

/** A table of the shop with the rows that stand in its place. */
type Fixture = { file: string; schema: string; table: string; json: string };

type Row = Record<string, unknown>;

/**
 * Writes the shop queries into a temporary folder so that they read the rows of fixture files in place of the shop's
 * tables. Each table becomes a `with` clause of the query, `json_populate_recordset` with the table's own row type:
 * the columns have the shop's types, and nothing is written in the shop database, not even a temporary table.
 *
 * @param folder has a file `<schema>.<table>.csv` or `.json` for each table; the schema may be left out.
 * @returns the temporary folder; the caller removes it.
 * @throws UsageError where a file names no table or no column of it, or a query reads a table without a file.
 */
export async function writeFixtureQueries(options: { url: string; sqlDir: string; folder: string }): Promise<string> {
  if (!/^postgres(ql)?:$/.test(new URL(options.url).protocol)) {
    throw new UsageError('doctor --fixtures needs a shop database on Postgres', {
      hint: 'For MySQL and MariaDB load the rows into an empty database, and use preview order there.',
    });
  }
  const client = new pg.Client({ connectionString: options.url, application_name: 'review-sync' });
  await client.connect().catch((cause: unknown) => {
    throw new ReviewSyncError('shop', `The shop database cannot be reached: ${describeError(cause)}`, {
      cause,
      hint: 'It is only asked for the types of its columns: a copy without rows will do.',
    });
  });
  try {
    await client.query('begin read only');
    const fixtures = await readFixtures(client, options.folder);
    const target = await mkdtemp(join(tmpdir(), 'review-sync-fixtures-'));
    for (const file of await filesOf(options.sqlDir, /^(orders|order_lines|changed_orders)\.sql$/)) {
      const text = wrapped(selectOf(await readFile(join(options.sqlDir, file), 'utf8')), fixtures);
      if (file !== 'changed_orders.sql') await requireFixtures(client, file, text);
      await writeFile(join(target, file), text);
    }
    return target;
  } finally {
    await client.end();
  }
}

async function filesOf(folder: string, pattern: RegExp): Promise<string[]> {
  const files = await readdir(folder).catch((cause: unknown) => {
    throw new UsageError(`The folder ${folder} cannot be read`, { cause });
  });
  return files.filter((file) => pattern.test(file)).sort();
}

async function readFixtures(client: pg.Client, folder: string): Promise<Fixture[]> {
  const fixtures: Fixture[] = [];
  for (const file of await filesOf(folder, /\.(csv|json)$/)) {
    const path = join(folder, file);
    const found = await tableOf(client, file);
    const rows = rowsOf(path, await readFile(path, 'utf8'), found.jsonColumns);
    const unknown = rows.flatMap((row) => Object.keys(row)).find((name) => !found.columns.includes(name));
    if (unknown !== undefined) {
      throw new UsageError(`${path}: ${found.schema}.${found.table} has no column ${unknown}`, {
        hint: `Its columns: ${found.columns.join(', ')}.`,
      });
    }
    const same = fixtures.find(({ table }) => table === found.table);
    if (same) {
      throw new UsageError(`${path} and ${same.file} are of two tables of one name`, {
        hint: 'Tables are found by their name without the schema: keep one of them.',
      });
    }
    fixtures.push({ file, schema: found.schema, table: found.table, json: JSON.stringify(rows) });
  }
  if (fixtures.length > 0) return fixtures;
  throw new UsageError(`The folder ${folder} has no rows`, {
    hint: 'Add <schema>.<table>.csv or .json for each table.',
  });
}

type FoundTable = { schema: string; table: string; columns: string[]; jsonColumns: string[] };

async function tableOf(client: pg.Client, file: string): Promise<FoundTable> {
  const name = file
    .replace(/\.(csv|json)$/, '')
    .split('.')
    .map((part) => pg.escapeIdentifier(part))
    .join('.');
  const { rows } = await client.query<FoundTable>(
    `select n.nspname as schema, c.relname as table,
       array_agg(a.attname::text order by a.attnum) as columns,
       coalesce(array_agg(a.attname::text) filter (where a.atttypid in ('json'::regtype, 'jsonb'::regtype)), '{}') as "jsonColumns"
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.oid = to_regclass($1) group by 1, 2`,
    [name],
  );
  const [found] = rows;
  if (found) return found;
  throw new UsageError(`${file}: the shop database has no table ${name.replaceAll('"', '')}`, {
    hint: 'Name the file <schema>.<table>.csv or .json, as the table is written in the query.',
  });
}

/** Of a CSV file an empty cell is null; a cell of a json column is JSON. */
function rowsOf(path: string, text: string, jsonColumns: readonly string[]): Row[] {
  try {
    if (path.endsWith('.json')) {
      const rows: unknown = JSON.parse(text);
      if (Array.isArray(rows)) return rows as Row[];
      throw new Error('expected an array of rows');
    }
    const rows = parse(text, { bom: true, columns: true, skip_empty_lines: true }) as Record<string, string>[];
    return rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, cell]) => {
          if (cell === '') return [name, null];
          return [name, jsonColumns.includes(name) ? JSON.parse(cell) : cell];
        }),
      ),
    );
  } catch (cause) {
    throw new UsageError(`${path} cannot be read: ${describeError(cause)}`, { cause });
  }
}

/** The query as it was, from its first line on, with the fixtures in front of it. */
function wrapped(select: string, fixtures: readonly Fixture[]): string {
  const text = fixtures.reduce((sql, { schema, table }) => withoutSchema(sql, schema, table), select);
  const clauses = fixtures.map(({ schema, table, json }) => {
    const name = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(table)}`;
    return `${pg.escapeIdentifier(table)} as (select * from json_populate_recordset(null::${name}, ${pg.escapeLiteral(json)}))`;
  });
  return `with ${clauses.join(', ')} select * from (${text}\n) fixture_query`;
}

/** Whatever else the query reads would be the shop's own rows. */
async function requireFixtures(client: pg.Client, file: string, text: string): Promise<void> {
  await client.query('savepoint explain');
  const explained = await client
    .query<{ 'QUERY PLAN': unknown }>(`explain (verbose, format json) ${text}`)
    .catch(async () => {
      await client.query('rollback to savepoint explain');
      return undefined;
    });
  // A query that cannot be run is reported where it is checked against the contract.
  if (explained === undefined) return;
  const tables = [...new Set(relationsIn(explained.rows[0]?.['QUERY PLAN']))];
  if (tables.length === 0) return;
  throw new UsageError(`${file} reads ${tables.join(', ')}, and the folder has no rows for it`, {
    hint:
      `Add ${tables.map((table) => `${table}.csv`).join(', ')}; ` +
      'a file with a header alone stands for an empty table.',
  });
}

function relationsIn(plan: unknown): string[] {
  if (typeof plan !== 'object' || plan === null) return [];
  const { 'Relation Name': relation, Schema: schema } = plan as Record<string, unknown>;
  const own = typeof relation === 'string' && schema !== 'pg_catalog' ? [`${schema}.${relation}`] : [];
  return [...own, ...Object.values(plan).flatMap(relationsIn)];
}
