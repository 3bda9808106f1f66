import pg from 'pg';
import type { DriverConnection, StatementPlan } from '../driver.ts';
import { comparedColumns, fullScans, type WholeTable } from '../plan.ts';

/** The used fields of a node of EXPLAIN (verbose, format json). */
export type PlanNode = {
  'Node Type': string;
  Schema?: string;
  'Relation Name'?: string;
  Alias?: string;
  Filter?: string;
  'Index Cond'?: string;
  'Recheck Cond'?: string;
  'Hash Cond'?: string;
  'Merge Cond'?: string;
  'Join Filter'?: string;
  Plans?: PlanNode[];
};

/**
 * The tables that a plan reads from end to end, in table or index order, with the columns that are compared: by the
 * table's own filter, or, without one, by the joins above.
 */
export function wholeTables(node: PlanNode, joins: readonly string[] = []) {
  const conditions = [node['Hash Cond'], node['Merge Cond'], node['Join Filter']].filter((one) => one !== undefined);
  const below: { schema: string; table: string; columns: string[] }[] = (node.Plans ?? []).flatMap((child) =>
    wholeTables(child, [...conditions, ...joins]),
  );
  const { Schema: schema, 'Relation Name': table, Alias: alias, Filter: filter = '' } = node;
  if (schema === undefined || table === undefined || alias === undefined) return below;
  const narrowed = comparedColumns([node['Index Cond'] ?? node['Recheck Cond'] ?? ''], alias);
  if (!/^(Seq|Index|Index Only|Bitmap Heap) Scan$/.test(node['Node Type']) || narrowed.length > 0) return below;
  const own = comparedColumns([filter], alias);
  return [...below, { schema, table, columns: own.length > 0 ? own : comparedColumns(joins, alias) }];
}

/** From this size on, a table that was never analyzed counts as large. */
const largeFromBytes = 4_000_000;

/** The large tables that a statement reads as a whole, with sequential scans switched off: no index serves. */
export async function explainStatement(run: DriverConnection['run'], statement: string): Promise<StatementPlan> {
  await run('set local enable_seqscan = off');
  const [explained] = await run(`explain (verbose, format json) ${statement}`);
  await run('set local enable_seqscan = on');
  const [{ Plan: plan }] = JSON.parse(explained?.['QUERY PLAN'] ?? '') as [{ Plan: PlanNode }];
  const tables: WholeTable[] = [];
  for (const { schema, table, columns } of wholeTables(plan)) {
    const [size] = await run(
      `select c.oid::regclass::text as name, c.reltuples::bigint as rows, pg_relation_size(c.oid) as bytes
       from pg_class c where c.oid = to_regclass(format('%I.%I', ${pg.escapeLiteral(schema)}, ${pg.escapeLiteral(table)}))`,
    );
    const isUnknown = Number(size?.rows) < 0 && Number(size?.bytes) >= largeFromBytes;
    tables.push({ table: size?.name ?? table, rows: isUnknown ? undefined : Number(size?.rows), columns });
  }
  return { scans: fullScans(tables, 'postgres') };
}
