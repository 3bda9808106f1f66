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
 * Presets that fit the shop's tables, the ones that read most tables first; each with every schema and prefix that it fits.
 * Without I/O.
 */
export function recognise(presets: readonly Preset[], shop: ShopTables): Recognised[] {
  return presets
    .filter((preset) => preset.database === shop.dialect)
    .flatMap((preset) => placesOf(preset, shop.tables))
    .sort((a, b) => tableCount(b.preset) - tableCount(a.preset) || a.prefix.length - b.prefix.length);
}

/** The tables of a preset as they would be named with its own prefix and no schema. */
export const asWritten = (preset: Preset): Recognised => ({
  preset,
  prefix: preset.prefix,
  schema: undefined,
  renames: new Map(),
});

const tableCount = ({ tables }: Preset) => Object.keys(tables).length;

function placesOf(preset: Preset, tables: readonly ShopTable[]): Recognised[] {
  const wanted = Object.entries(preset.tables).map(([name, columns]) => ({
    name,
    base: name.slice(preset.prefix.length),
    columns,
  }));
  const [first] = wanted;
  if (!first) return [];
  return tables
    .filter(({ name }) => name.endsWith(first.base))
    .map(({ name, schema }) => ({ prefix: name.slice(0, name.length - first.base.length), schema }))
    .filter(({ prefix, schema }) =>
      wanted.every(({ base, columns }) => {
        const table = tables.find((one) => one.schema === schema && one.name === prefix + base);
        return table !== undefined && columns.every((column) => table.columns.includes(column));
      }),
    )
    .map(({ prefix, schema }) => {
      const isAsWritten = prefix === preset.prefix && schema === undefined;
      const renames = isAsWritten ? [] : wanted.map(({ name, base }): [string, string] => [name, prefix + base]);
      return { preset, prefix, schema, renames: new Map(renames) };
    });
}
