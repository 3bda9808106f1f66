import { readdir, readFile } from 'node:fs/promises';
import { packagePath } from '../../base/package-path.ts';
import type { SqlDialect } from '../../shop/sql-text.ts';

/** A shop system whose queries are shipped: `sql/shop/presets/<name>/`. */
export type Preset = {
  name: string;
  /** With the versions, for people. */
  title: string;
  /** The version of the real system on which the queries were run, and how; absent: they never met one. */
  ranOn?: string;
  database: SqlDialect;
  /** The prefix of the tables as the queries are written; empty if the system has none. */
  prefix: string;
  /**
   * Every table that the queries read, prefix included, with columns that tell versions apart. With `!` before its name a
   * column must not be there.
   */
  tables: Readonly<Record<string, readonly string[]>>;
  /** A SELECT that shows a row only if this preset is the right one of several that fit. */
  onlyWhere?: string;
  /** Zone of dates without zone. `ask`: the shop's own, to be filled in. Absent: no such date is selected. */
  timeZone?: string;
  /** SCHEDULE_RECONCILE, if the change feed misses so much that a day is too long. */
  reconcile?: string;
  /** A SELECT of the shop's own zone as an IANA name, for `timeZone: "ask"`. */
  timeZoneQuery?: string;
};

export const presetFolder = (name: string) => packagePath('sql', 'shop', 'presets', name);

/** All presets by name. */
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
