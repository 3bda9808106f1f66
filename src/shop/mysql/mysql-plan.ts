import { describeError } from '../../base/errors.ts';
import { escapeRegExp } from '../../base/escape-reg-exp.ts';
import type { FullScan, StatementPlan } from '../session.ts';
import { isHiddenPlan } from './mysql-fault.ts';
import type { RunStatement } from './mysql-session.ts';
import { textLiteral } from './mysql-values.ts';

/**
 * A table of EXPLAIN (format json), as far as it is looked at. MySQL and MariaDB name the number of rows differently.
 */
type PlanTable = {
  table_name: string;
  access_type: string;
  possible_keys?: string[];
  rows?: number;
  rows_examined_per_scan?: number;
};

/** Tables with fewer rows cost less than looking into an index would save. */
const largeFromRows = 20_000;

/**
 * Explains a statement. That it cannot be explained is no error: a user who may select from a view may not explain it
 * without rights to its tables.
 */
export async function explainStatement(run: RunStatement, text: string): Promise<StatementPlan> {
  try {
    return { scans: await fullScans(run, text) };
  } catch (error) {
    if (isHiddenPlan(error)) {
      const remedy =
        'grant the user show view, and select on the tables of the view, and run doctor again; runs do not need it';
      return { scans: [], unexplained: { why: 'a view hides its tables', remedy } };
    }
    // Without an SQLSTATE, the connection broke.
    if (!(error instanceof UnreadablePlan || (error instanceof Error && 'sqlState' in error))) throw error;
    const remedy = 'run explain on the query by hand, with a condition on its key, and see what it reads';
    return { scans: [], unexplained: { why: describeError(error), remedy } };
  }
}

/**
 * The large tables that a statement reads as a whole because no index serves, each with what would help. A table that
 * the database reads as a whole although an index would serve is left out: it found that cheaper.
 */
async function fullScans(run: RunStatement, text: string): Promise<FullScan[]> {
  const [row] = await run(`explain format=json ${text}`);
  const plan = readPlan(Object.values(row ?? {})[0] ?? 'null');
  const found: FullScan[] = [];
  for (const { table, conditions } of tablesOf(plan)) {
    const rows = table.rows_examined_per_scan ?? table.rows ?? 0;
    const isWhole = table.access_type === 'ALL' || table.access_type === 'index';
    // What a query inside another one gives is no table of the shop: <derived2>.
    if (!isWhole || rows < largeFromRows || table.table_name.startsWith('<')) continue;
    const name = tableNameOf(text, table.table_name);
    if (found.some((one) => one.table === name)) continue;
    const columns = comparedColumns(conditions, table.table_name);
    const indexed = await indexedOf(run, name, columns);
    if (indexed.some(({ index }) => table.possible_keys?.includes(index))) continue;
    found.push({ table: name, rows, remedy: remedyOf(name, columns, indexed) });
  }
  return found;
}

class UnreadablePlan extends Error {}

/**
 * The plan that EXPLAIN gave. MariaDB 10.11 writes the text of conditions into it without escaping quotes and
 * backslashes, such as `"attached_condition": "o.inv not like '%"%'"`, but each on one line: there it is escaped first.
 * The parser's message is not taken over: it quotes the plan, which holds codes of orders.
 */
function readPlan(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    try {
      return JSON.parse(text.split('\n').map(withEscapedText).join('\n'));
    } catch {
      throw new UnreadablePlan('the plan that the database shows is no JSON');
    }
  }
}

function withEscapedText(line: string): string {
  const [, name, content, comma] = /^(\s*"\w+": )"(.*)"(,?)$/s.exec(line) ?? [];
  return content === undefined ? line : `${name}${JSON.stringify(content)}${comma}`;
}

/** The tables of a plan with the conditions on each: its own, and those of the joins above it. */
function tablesOf(plan: unknown, above: readonly string[] = []): { table: PlanTable; conditions: string[] }[] {
  if (typeof plan !== 'object' || plan === null) return [];
  const own = 'attached_condition' in plan ? [String(plan.attached_condition)] : [];
  const conditions = [...own, ...above];
  const found = 'table_name' in plan && 'access_type' in plan ? [{ table: plan as PlanTable, conditions }] : [];
  return [...found, ...Object.values(plan).flatMap((part) => tablesOf(part, conditions))];
}

/** The columns that the conditions compare: `o`.`modified` of MySQL, o.modified of MariaDB. */
function comparedColumns(conditions: readonly string[], alias: string): string[] {
  const name = `(?<![\\w$])${escapeRegExp(alias)}\\.([\\w$]+)`;
  const plain = conditions
    .join(' ')
    .replace(/'(?:[^'\\]|''|\\.)*'/g, "''")
    .replaceAll('`', '')
    // No index is made for these: review-sync adds them to every walk.
    .replaceAll(
      new RegExp(
        `${name} is not null|${name} <> (?:_utf8mb4 ?)?''|locate\\([^()]*\\) = 0|convert\\([^()]* using utf8mb4\\)`,
        'gi',
      ),
      '',
    );
  return [...new Set([...plain.matchAll(new RegExp(name, 'g'))].map((match) => match[1] ?? ''))];
}

/** The name of the table that a query calls by the alias; EXPLAIN knows only that. */
function tableNameOf(text: string, alias: string): string {
  const name = '(?:`[^`]+`|[\\w$]+)';
  const aliased = new RegExp(
    `(${name}(?:\\s*\\.\\s*${name})?)\\s+(?:as\\s+)?\`?${escapeRegExp(alias)}\`?(?![\\w$.\`])`,
    'i',
  );
  const found = aliased.exec(text)?.[1];
  return found === undefined || /^(from|join)$/i.test(found) ? alias : found;
}

/** Indexes of the table that begin with one of the columns. */
async function indexedOf(run: RunStatement, table: string, columns: readonly string[]) {
  if (columns.length === 0) return [];
  const [name = '', schema] = table
    .replaceAll('`', '')
    .split(/\s*\.\s*/)
    .reverse();
  const rows = await run(
    `select index_name as ix, column_name as col from information_schema.statistics
     where table_schema = ${schema === undefined ? 'database()' : textLiteral(schema)} and table_name = ${textLiteral(name)}
       and column_name in (${columns.map(textLiteral).join(', ')}) and seq_in_index = 1`,
  );
  return rows.map(({ ix, col }) => ({ index: ix ?? '', column: col ?? '' }));
}

function remedyOf(table: string, [first]: readonly string[], indexed: readonly { column: string }[]): string {
  if (first === undefined) return 'compare a column of it that has an index, without a function around the column';
  if (indexed.every(({ column }) => column !== first)) {
    const plain = table.replaceAll('`', '').split('.').at(-1) ?? '';
    return `create index ${plain.trim()}_${first} on ${table} (${first})`;
  }
  return `${first} has an index that does not serve here: select and compare the column as it is, without a function or a cast around it`;
}
