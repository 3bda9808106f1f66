import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeFolder } from '../../base/make-folder.ts';
import { packagePath } from '../../base/package-path.ts';
import type { QueryName } from '../../shop/contract.ts';
import { renameTables, type SqlDialect } from '../../shop/sql-text.ts';
import { presetFolder } from './presets.ts';
import type { Recognised } from './recognise.ts';

const queryNames: readonly QueryName[] = ['orders', 'order_lines', 'changed_orders', 'categories', 'user_grades'];

/**
 * Writes the queries of a preset, with the names of this shop's tables, or the commented template of its kind of database
 * into a folder. A folder that holds a query already is left alone, unless `force`: a file may be absent on purpose. A
 * README.md that is there already is kept, too.
 *
 * @returns the query files that were written, and those that were there before and were left as they are.
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

/** A query of a preset with the names of this shop's tables. */
export function asNamedHere(sql: string, { preset, renames, schema }: Recognised): string {
  if (renames.size === 0) return sql;
  return renameTables(sql, { names: Object.keys(preset.tables), renames, schema }, preset.database);
}
