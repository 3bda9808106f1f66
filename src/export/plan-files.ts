import type { BiMonth, BiSnapshot } from '../warehouse/bi/bi-snapshot.ts';
import { type ExportedTable, exportedTables } from './exported-tables.ts';
import type { Manifest } from './manifest.ts';

export type PlannedFile = {
  table: ExportedTable;
  /** Within the folder of the export. */
  path: string;
  month?: BiMonth & { name: string; by: string };
  /** Whether the file has to be read from the warehouse again. */
  isChanged: boolean;
};

type FileRules = { all: boolean; isAsBefore: (path: string) => Promise<boolean> };

/**
 * Every file that the export has, or had: of each table with months a file per month that ever had rows, of each other
 * table one.
 */
export async function planFiles(
  snapshot: Pick<BiSnapshot, 'months' | 'timeZone' | 'views'>,
  before: Manifest | undefined,
  { all, isAsBefore }: FileRules,
): Promise<PlannedFile[]> {
  const planned: PlannedFile[] = [];
  for (const table of exportedTables) {
    const definition = snapshot.views.get(table.name)?.definition;
    const isRedefined = before?.tables[table.name]?.definition !== definition || before?.timeZone !== snapshot.timeZone;
    if (!table.by) {
      planned.push({ table, path: `${table.name}/${fileName}`, isChanged: true });
      continue;
    }
    const months = new Map(snapshot.months(table.name).map((month) => [fileNameOf(month.first), month]));
    for (const name of formerMonths(before, table.name)) {
      if (!months.has(name)) months.set(name, { first: firstDayOf(name), version: '0' });
    }
    for (const [name, month] of [...months].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const path = `${table.name}/month=${name}/${fileName}`;
      const version = before?.files[path]?.version ?? before?.emptyMonths[path];
      const mustWrite = !before || all || isRedefined || version !== month.version;
      // The file of an empty month is not there, and nothing is to be found out about it.
      const isChanged = mustWrite || !(path in before.emptyMonths || (await isAsBefore(path)));
      planned.push({ table, path, month: { ...month, name, by: table.by }, isChanged });
    }
  }
  return planned;
}

const fileName = 'data.parquet';

/** As Hive names the partition of null. */
const noMonth = '__HIVE_DEFAULT_PARTITION__';

/** The month as yyyy-mm. The year before year 1 is 0000, as in ISO 8601. */
function fileNameOf(first: string | null): string {
  if (first === null) return noMonth;
  const [, year = '', month = '', era] = /^(\d+)-(\d\d)-\d\d( BC)?$/.exec(first) ?? [];
  return `${era ? String(1 - Number(year)).padStart(4, '0') : year}-${month}`;
}

/** The inverse of `fileNameOf`. */
function firstDayOf(name: string): string | null {
  const [, year = '', month = ''] = /^(-?\d+)-(\d\d)$/.exec(name) ?? [];
  if (month === '') return null;
  const isEarlier = Number(year) < 1;
  return `${isEarlier ? String(1 - Number(year)).padStart(4, '0') : year}-${month}-01${isEarlier ? ' BC' : ''}`;
}

/** The months of a table of which an earlier export wrote a file: a warehouse that was restored may not know them. */
function formerMonths(before: Manifest | undefined, table: string): string[] {
  const prefix = `${table}/month=`;
  return Object.keys(before?.files ?? {})
    .filter((path) => path.startsWith(prefix))
    .map((path) => path.slice(prefix.length).replace(`/${fileName}`, ''));
}
