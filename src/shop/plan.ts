import { escapeRegExp } from '../base/escape-reg-exp.ts';
import type { FullScan } from './driver.ts';
import type { SqlDialect } from './sql-text.ts';

/** Tables with fewer rows cost less to read than an index would save. */
const largeFromRows = 20_000;

/** A table that a statement reads as a whole, by the database's plan. */
export type WholeTable = {
  /** The name as written in SQL. */
  table: string;
  /** Undefined if the table was never analyzed. */
  rows: number | undefined;
  /** The columns that the statement compares. */
  columns: readonly string[];
};

/** The large tables among these, each once, with a remedy. */
export function fullScans(tables: readonly WholeTable[], dialect: SqlDialect): FullScan[] {
  const scans = new Map<string, FullScan>();
  for (const { table, rows, columns } of tables) {
    if (rows === undefined) scans.set(table, { table, rows, remedy: `run: analyze ${table}` });
    else if (rows >= largeFromRows) scans.set(table, { table, rows, remedy: remedyOf(table, columns[0], dialect) });
  }
  return [...scans.values()];
}

function remedyOf(table: string, column: string | undefined, dialect: SqlDialect): string {
  const asItIs = 'without a function or a cast around it';
  if (column === undefined) return `compare a column of it that has an index, ${asItIs}`;
  const index =
    dialect === 'mysql' ? `alter table ${table} add index (${column})` : `create index on ${table} (${column})`;
  return `${index}; where there is that index, select and compare ${column} as it is, ${asItIs}`;
}

/** The columns of a table that conditions of a plan compare, as quoted there. @param alias the table's alias. */
export function comparedColumns(conditions: readonly string[], alias: string): string[] {
  const plain = conditions
    .join(' ')
    .replaceAll('`', '')
    .replaceAll(/'(?:[^'\\]|''|\\.)*'/g, "''")
    // These need no index: review-sync adds them to every walk.
    .replaceAll(/coalesce\(b?trim\([^<]*<>|locate\([^=]*= 0|[\w."]+ is not null/gi, '');
  const column = new RegExp(`(?<![\\w."$])"?${escapeRegExp(alias)}"?\\.("(?:[^"]|"")+"|[\\w$]+)`, 'g');
  return [...new Set([...plain.matchAll(column)].map((match) => match[1] ?? ''))];
}
