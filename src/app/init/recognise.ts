import type { ShopTable, ShopTables } from '../../shop/tables.ts';
import type { Preset } from './presets.ts';

/** A preset whose tables are all there, in one schema and with one prefix. */
export type Recognised = {
  preset: Preset;
  prefix: string;
  schema: string | undefined;
  /** The names of this shop's tables by those in the preset's queries, where they differ. */
  renames: ReadonlyMap<string, string>;
};

/**
 * Presets that fit the shop's tables, the ones that read most tables first; each with every schema and prefix that it
 * fits. Without I/O.
 */
export const recognise = (presets: readonly Preset[], { dialect, tables }: ShopTables): Recognised[] =>
  presets
    .filter(({ database }) => database === dialect)
    .flatMap((preset) => placesOf(preset, tables))
    .sort((a, b) => tablesOf(b) - tablesOf(a) || a.prefix.length - b.prefix.length);

const tablesOf = ({ preset }: Recognised) => Object.keys(preset.tables).length;

/** The tables of a preset as they would be named with its own prefix and no schema. */
export const asWritten = (preset: Preset): Recognised => placeAt(preset, preset.prefix, undefined);

/** Each schema and prefix under which all tables of a preset are there. */
function placesOf(preset: Preset, tables: readonly ShopTable[]): Recognised[] {
  const wanted = wantedTables(preset);
  const [first] = wanted;
  if (!first) return [];
  const has = (schema: string | undefined, prefix: string) =>
    wanted.every(({ base, columns }) => {
      const table = tables.find((one) => one.schema === schema && one.name === prefix + base);
      return table !== undefined && hasColumns(table, columns);
    });
  return tables.flatMap(({ name, schema }) => {
    const prefix = name.slice(0, name.length - first.base.length);
    // Anybody who may create a table in the shop names it, and its name goes into queries and into a command that init prints.
    const isUsable = name.endsWith(first.base) && isPlainName(name) && isPlainName(schema ?? '');
    return isUsable && has(schema, prefix) ? [placeAt(preset, prefix, schema)] : [];
  });
}

/** Whether the table has the columns; with `!` before its name a column must not be there. */
const hasColumns = ({ columns }: ShopTable, wanted: readonly string[]) =>
  wanted.every((name) => (name.startsWith('!') ? !columns.includes(name.slice(1)) : columns.includes(name)));

const isPlainName = (name: string) => /^[\w$]*$/.test(name);

const wantedTables = (preset: Preset) =>
  Object.entries(preset.tables).map(([name, columns]) => ({ name, base: name.slice(preset.prefix.length), columns }));

function placeAt(preset: Preset, prefix: string, schema: string | undefined): Recognised {
  const isAsWritten = prefix === preset.prefix && schema === undefined;
  const renames = isAsWritten
    ? []
    : wantedTables(preset).map(({ name, base }): [string, string] => [name, prefix + base]);
  return { preset, prefix, schema, renames: new Map(renames) };
}
