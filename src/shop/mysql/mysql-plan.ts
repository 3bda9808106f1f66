import { describeError } from '../../base/errors.ts';
import { escapeRegExp } from '../../base/escape-reg-exp.ts';
import type { DriverConnection, StatementPlan } from '../driver.ts';
import { comparedColumns, fullScans } from '../plan.ts';

/** The used fields of a table of EXPLAIN (format json). MySQL and MariaDB name the number of rows differently. */
type PlanTable = { table_name: string; access_type: string; rows?: number; rows_examined_per_scan?: number };

/**
 * The large tables that a statement reads as a whole, each with a remedy. If the statement cannot be explained, that is
 * no error: a user who may select from a view may not explain it without rights to its tables, and MariaDB 10.11 does
 * not escape quotes in its plans.
 */
export async function explainStatement(run: DriverConnection['run'], statement: string): Promise<StatementPlan> {
  let plan: unknown;
  try {
    const [row] = await run(`explain format=json ${statement}`);
    plan = JSON.parse(Object.values(row ?? {})[0] ?? 'null');
  } catch (error) {
    // The parser's message quotes the plan, which holds codes of orders.
    if (error instanceof SyntaxError) return { scans: [], unexplained: 'the plan that the database shows is no JSON' };
    if (error instanceof Error && 'sqlState' in error) return { scans: [], unexplained: describeError(error) };
    throw error;
  }
  // The result of a subquery is no table of the shop: <derived2>.
  const whole = tablesOf(plan).filter(
    ({ table: { access_type: access, table_name: name } }) => /^(ALL|index)$/.test(access) && !name.startsWith('<'),
  );
  const tables = whole.map(({ table, conditions }) => ({
    table: tableNameOf(statement, table.table_name),
    rows: table.rows_examined_per_scan ?? table.rows ?? 0,
    columns: comparedColumns(conditions, table.table_name),
  }));
  return { scans: fullScans(tables, 'mysql') };
}

/** The tables of a plan, each with its own conditions and the conditions of the joins above it. */
function tablesOf(plan: unknown, above: readonly string[] = []): { table: PlanTable; conditions: string[] }[] {
  if (typeof plan !== 'object' || plan === null) return [];
  const own = 'attached_condition' in plan ? [String(plan.attached_condition)] : [];
  const conditions = [...own, ...above];
  const found = 'table_name' in plan && 'access_type' in plan ? [{ table: plan as PlanTable, conditions }] : [];
  return [...found, ...Object.values(plan).flatMap((part) => tablesOf(part, conditions))];
}

/** The table name of an alias in a query: EXPLAIN shows only the alias. */
function tableNameOf(statement: string, alias: string): string {
  const name = '(?:`[^`]+`|[\\w$]+)';
  const aliased = new RegExp(
    `(${name}(?:\\s*\\.\\s*${name})?)\\s+(?:as\\s+)?\`?${escapeRegExp(alias)}\`?(?![\\w$.\`])`,
    'i',
  );
  const found = aliased.exec(statement)?.[1];
  return found === undefined || /^(from|join)$/i.test(found) ? alias : found;
}
