import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeFolder } from '../../base/make-folder.ts';
import { packagePath } from '../../base/package-path.ts';
import type { QueryName } from '../../shop/rows.ts';
import { renameTables, type SqlDialect } from '../../shop/sql-text.ts';
import type { ShopTable } from '../../shop/tables.ts';

/** A shop system whose queries are shipped: `sql/shop/presets/<name>/`. */
export type Preset = {
  name: string;
  /** With the versions, for people. */
  title: string;
  /** The version of the real system that the queries ran on, and how. Absent: they never ran on one. */
  ranOn?: string;
  database: SqlDialect;
  /** The prefix of the tables as the queries are written; empty if the system has none. */
  prefix: string;
  /** Tables that the queries read, with prefix, and columns that tell versions apart. `!`: it must be absent. */
  tables: Readonly<Record<string, readonly string[]>>;
  /** A SELECT. If several presets fit, it returns a row only if this preset is the right one. */
  onlyWhere?: string;
  /** Zone of dates without zone. `ask`: the shop's own zone, to be filled in. Absent: no such date is selected. */
  timeZone?: string;
  /** SCHEDULE_RECONCILE, if the change feed misses so many changes that a day is too long. */
  reconcile?: string;
  /** A SELECT of the shop's own zone as an IANA name, for `timeZone: "ask"`. */
  timeZoneQuery?: string;
};

export const presetFolder = (name: string) => packagePath('sql', 'shop', 'presets', name);

export async function readPresets(): Promise<Preset[]> {
  const folders = await readdir(packagePath('sql', 'shop', 'presets'), { withFileTypes: true });
  const names = folders.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Promise.all(
    names.sort().map(async (name) => {
      const text = await readFile(`${presetFolder(name)}/preset.json`, 'utf8');
      return { name, ...(JSON.parse(text) as Omit<Preset, 'name'>) };
    }),
  );
}

/** A preset with all its tables present, in one schema and with one prefix. */
export type Recognised = { preset: Preset; prefix: string; schema: string | undefined };

/** Presets that fit the shop's tables, with every schema and prefix. Presets that read the most tables come first. */
export const recognise = (presets: readonly Preset[], tables: readonly ShopTable[]): Recognised[] =>
  presets
    .flatMap((preset) => recognisedBy(preset, tables))
    .sort((a, b) => tablesOf(b) - tablesOf(a) || a.prefix.length - b.prefix.length);

const tablesOf = ({ preset }: Recognised) => Object.keys(preset.tables).length;

/** Each schema and prefix that has all tables of a preset. */
function recognisedBy(preset: Preset, tables: readonly ShopTable[]): Recognised[] {
  const wanted = Object.entries(preset.tables).map(([name, columns]) => ({ base: baseOf(preset, name), columns }));
  const first = wanted[0]?.base ?? '';
  const hasAll = (schema: string | undefined, prefix: string) =>
    wanted.every(({ base, columns }) =>
      tables.some((one) => one.schema === schema && one.name === prefix + base && hasColumns(one, columns)),
    );
  return tables.flatMap(({ name, schema }) => {
    const prefix = name.slice(0, name.length - first.length);
    // Other users may name tables in the shop. The name goes into queries and into a command that init prints.
    const isUsable = name.endsWith(first) && isPlainName(name) && isPlainName(schema ?? '');
    return isUsable && hasAll(schema, prefix) ? [{ preset, prefix, schema }] : [];
  });
}

const baseOf = ({ prefix }: Preset, table: string) => table.slice(prefix.length);

const hasColumns = ({ columns }: ShopTable, wanted: readonly string[]) =>
  wanted.every((name) => (name.startsWith('!') ? !columns.includes(name.slice(1)) : columns.includes(name)));

const isPlainName = (name: string) => /^[\w$]*$/.test(name);

/** A query of a preset with this shop's table names. */
export function asNamedHere(sql: string, { preset, prefix, schema }: Recognised): string {
  if (prefix === preset.prefix && schema === undefined) return sql;
  const names = Object.keys(preset.tables);
  const renames = new Map(names.map((name) => [name, prefix + baseOf(preset, name)]));
  return renameTables(sql, { names, renames, schema }, preset.database);
}

const queryNames: readonly QueryName[] = ['orders', 'order_lines', 'changed_orders', 'categories', 'user_grades'];

/**
 * Writes the queries of a preset, with the names of this shop's tables, or the commented template of its kind of
 * database into a folder. Without `force`, a folder that already has a query stays as it is, because a file may be
 * absent on purpose. A README.md also stays.
 */
export async function writeQueries(
  folder: string,
  found: Recognised | undefined,
  options: { force: boolean; dialect: SqlDialect },
): Promise<{ written: string[]; kept: string[] }> {
  const template = options.dialect === 'mysql' ? packagePath('sql', 'demo', 'mariadb') : packagePath('sql', 'shop');
  const from = found ? presetFolder(found.preset.name) : template;
  const files = await readdir(from);
  const shipped = queryNames.map((name) => `${name}.sql`).filter((file) => files.includes(file));
  const there = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.sql'));
  if (there.length > 0 && !options.force) return { written: [], kept: there };
  await makeFolder(resolve(folder));
  for (const file of shipped) {
    const text = await readFile(join(from, file), 'utf8');
    await writeFile(join(folder, file), found ? asNamedHere(text, found) : text);
  }
  if (found) {
    const readme = await readFile(join(from, 'README.md'), 'utf8');
    const written = writeFile(join(folder, 'README.md'), readme, { flag: options.force ? 'w' : 'wx' });
    await written.catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
  return { written: shipped, kept: there.filter((file) => !shipped.includes(file)) };
}
