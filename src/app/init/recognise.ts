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
export function recognise(presets: readonly Preset[], shop: ShopTables): Recognised[] {
  return rankedPlaces(presets, shop).flatMap(({ place, share }) => (share === 1 ? [place] : []));
}

/**
 * If no preset fits, the preset with the most of its tables present, if at least half are. Its other tables may be hidden
 * from the user. Without I/O.
 */
export function nearest(presets: readonly Preset[], shop: ShopTables): Recognised | undefined {
  const [best] = rankedPlaces(presets, shop);
  return best && best.share >= 0.5 ? best.place : undefined;
}

function rankedPlaces(presets: readonly Preset[], { dialect, tables }: ShopTables): Place[] {
  return presets
    .filter(({ database }) => database === dialect)
    .flatMap((preset) => placesOf(preset, tables))
    .sort((a, b) => b.share - a.share || b.seen - a.seen || a.place.prefix.length - b.place.prefix.length);
}

/** The tables of a preset as they would be named with its own prefix and no schema. */
export const asWritten = (preset: Preset): Recognised => placeAt(preset, preset.prefix, undefined);

/** A schema and prefix under which some tables of a preset are there, how many, and which share of all it reads. */
type Place = { place: Recognised; seen: number; share: number };

function placesOf(preset: Preset, tables: readonly ShopTable[]): Place[] {
  const wanted = wantedTables(preset);
  const places = new Map<string, Place>();
  // Anybody who may create a table in the shop names it, and its name goes into queries and into a command that init prints.
  const plain = tables.filter(({ name, schema }) => isPlainName(name) && isPlainName(schema ?? ''));
  for (const { base } of wanted) {
    for (const { name, schema } of plain.filter((one) => one.name.endsWith(base))) {
      const prefix = name.slice(0, name.length - base.length);
      const key = JSON.stringify([prefix, schema]);
      if (places.has(key)) continue;
      const seen = wanted.filter((one) => {
        const table = tables.find((other) => other.schema === schema && other.name === prefix + one.base);
        return table !== undefined && differingColumns(one.columns, table).length === 0;
      }).length;
      places.set(key, { place: placeAt(preset, prefix, schema), seen, share: seen / wanted.length });
    }
  }
  return [...places.values()];
}

/** Columns of a preset that the table lacks; with `!` before the name, those that it has and must not have. */
export const differingColumns = (wanted: readonly string[], { columns }: ShopTable): string[] =>
  wanted.filter((name) => (name.startsWith('!') ? columns.includes(name.slice(1)) : !columns.includes(name)));

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
