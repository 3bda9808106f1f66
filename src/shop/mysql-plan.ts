import type { RunStatement } from './mysql-session.ts';
import type { FullScan } from './session.ts';

/** A table of EXPLAIN (format json), as far as it is looked at. MySQL and MariaDB name the number of rows differently. */
type PlanTable = {
  table_name: string;
  access_type: string;
  possible_keys?: string[];
  rows?: number;
  rows_examined_per_scan?: number;
  attached_condition?: string;
};

/** Tables with fewer rows cost less than looking into an index would save. */
const largeFromRows = 20_000;

/**
 * The large tables that a statement reads as a whole because no index serves, each with what would help. A table that the
 * database reads as a whole although an index would serve is left out: it found that cheaper.
 */
export async function fullScans(run: RunStatement, text: string): Promise<FullScan[]> {
  const [row] = await run(`explain format=json ${text}`);
  const plan: unknown = JSON.parse(Object.values(row ?? {})[0] ?? 'null');
  const found: FullScan[] = [];
  for (const table of tablesOf(plan)) {
    const rows = table.rows_examined_per_scan ?? table.rows ?? 0;
    const isWhole = table.access_type === 'ALL' || table.access_type === 'index';
    if (!isWhole || rows < largeFromRows || (table.possible_keys ?? []).length > 0) continue;
    // What a query inside another one gives is no table of the shop: <derived2>.
    if (table.table_name.startsWith('<')) continue;
    const name = nameOf(text, table.table_name);
    if (found.some((one) => one.table === name)) continue;
    found.push({ table: name, rows, remedy: await remedyOf(run, name, columnsOf(table)) });
  }
  return found;
}

function tablesOf(plan: unknown): PlanTable[] {
  if (typeof plan !== 'object' || plan === null) return [];
  const own = 'table_name' in plan && 'access_type' in plan ? [plan as PlanTable] : [];
  return [...own, ...Object.values(plan).flatMap(tablesOf)];
}

/** The columns that the condition of a table compares: `o`.`modified` of MySQL, o.modified of MariaDB. */
function columnsOf({ table_name: alias, attached_condition: condition = '' }: PlanTable): string[] {
  const plain = condition.replace(/'(?:[^'\\]|''|\\.)*'/g, "''").replaceAll('`', '');
  const column = new RegExp(`(?<![\\w$])${escaped(alias)}\\.([\\w$]+)(?! is not null)`, 'g');
  return [...new Set([...plain.matchAll(column)].map((match) => match[1] ?? ''))];
}

/** The name of the table that a query calls by the alias; EXPLAIN knows only that. */
function nameOf(text: string, alias: string): string {
  const name = '(?:`[^`]+`|[\\w$]+)';
  const aliased = new RegExp(
    `(${name}(?:\\s*\\.\\s*${name})?)\\s+(?:as\\s+)?\`?${escaped(alias)}\`?(?![\\w$.\`])`,
    'i',
  );
  const found = aliased.exec(text)?.[1];
  return found === undefined || /^(from|join)$/i.test(found) ? alias : found;
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

async function remedyOf(run: RunStatement, table: string, [first]: readonly string[]): Promise<string> {
  if (first === undefined) return 'compare a column of it that has an index, without a function around the column';
  const plain = table.replaceAll('`', '').split('.').at(-1) ?? '';
  const literal = (value: string) => `_utf8mb4 x'${Buffer.from(value, 'utf8').toString('hex')}'`;
  const indexed = await run(
    `select 1 as one from information_schema.statistics
     where table_name = ${literal(plain)} and column_name = ${literal(first)} and seq_in_index = 1 limit 1`,
  );
  if (indexed.length === 0) return `create index ${plain}_${first}_idx on ${table} (${first})`;
  return `${first} has an index that does not serve here: select and compare the column as it is, without a function or a cast around it`;
}
