import type pg from 'pg';
import { escapeRegExp } from '../../base/escape-reg-exp.ts';
import type { FullScan } from '../session.ts';

/** A node of EXPLAIN (verbose, format json), as far as it is looked at. */
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

/** A sequential scan with the columns that the statement compares, the ones most worth an index first. */
export type SequentialScan = { schema: string; table: string; columns: string[] };

/**
 * The sequential scans of a plan. The columns are those of the scan's own filter; where it has none, those that the
 * joins above compare.
 */
export function sequentialScans(node: PlanNode, joins: readonly string[] = []): SequentialScan[] {
  const conditions = [node['Hash Cond'], node['Merge Cond'], node['Join Filter']].filter((one) => one !== undefined);
  const below = (node.Plans ?? []).flatMap((child) => sequentialScans(child, [...conditions, ...joins]));
  const { Schema: schema, 'Relation Name': table, Alias: alias } = node;
  if (node['Node Type'] !== 'Seq Scan' || schema === undefined || table === undefined || alias === undefined)
    return below;
  const compared = (texts: readonly string[]) => [...new Set(texts.flatMap((text) => comparedColumns(text, alias)))];
  const own = compared(node.Filter === undefined ? [] : [node.Filter]);
  return [...below, { schema, table, columns: own.length > 0 ? own : compared(joins) }];
}

/** The tables that a plan reads from end to end, in the order of the table or of an index. */
function tablesReadWhole(node: PlanNode): { schema: string; table: string }[] {
  const below = (node.Plans ?? []).flatMap(tablesReadWhole);
  const { Schema: schema, 'Relation Name': table, Alias: alias = '' } = node;
  const condition = node['Index Cond'] ?? node['Recheck Cond'] ?? '';
  const isWhole =
    /^(Seq|Index|Index Only|Bitmap Heap) Scan$/.test(node['Node Type']) &&
    comparedColumns(condition, alias).length === 0;
  return isWhole && schema !== undefined && table !== undefined ? [...below, { schema, table }] : below;
}

/** `((o.order_no)::text = ANY (…))` compares order_no of the alias o. */
function comparedColumns(condition: string, alias: string): string[] {
  const plain = condition
    .replace(/'(?:[^']|'')*'/g, "''")
    // No index is made for these: review-sync adds them to every walk.
    .replace(/(?:"[^"]+"|\w+)\.(?:"[^"]+"|\w+)\)?(?:::[\w ]+)? (?:IS NOT NULL|<> '')/g, '');
  const column = new RegExp(
    `(?<![\\w."])(?:${escapeRegExp(alias)}|"${escapeRegExp(alias)}")\\.("(?:[^"]|"")+"|\\w+)`,
    'g',
  );
  return [...plain.matchAll(column)].map((match) => match[1] ?? '');
}

/** Tables with fewer rows cost less than looking into an index would save. */
const largeFromRows = 20_000;
/** Of a table that was never analyzed. */
const largeFromBytes = 4_000_000;

/**
 * The large tables that a statement reads as a whole because no index serves, each with what would help. A table that
 * the database reads as a whole although an index would serve is left out: it found that cheaper.
 */
export async function fullScans(client: pg.ClientBase, text: string, values: unknown[]): Promise<FullScan[]> {
  const scans = sequentialScans(await planOf(client, text, values));
  if (scans.length === 0) return [];
  await client.query('set local enable_seqscan = off');
  const forced = tablesReadWhole(await planOf(client, text, values));
  await client.query('set local enable_seqscan = on');
  const needed = scans.filter((one) =>
    forced.some(({ schema, table }) => schema === one.schema && table === one.table),
  );
  const found: FullScan[] = [];
  for (const { schema, table, columns } of needed) {
    const { rows } = await client.query<Record<'name' | 'rows' | 'bytes' | 'indexed', string>>(
      `select c.oid::regclass::text as name, c.reltuples::bigint as rows, pg_relation_size(c.oid) as bytes,
         to_json(array(
           select distinct quote_ident(a.attname) from pg_index i
           join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
           where i.indrelid = c.oid
         )) as indexed
       from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = $2`,
      [schema, table],
    );
    const [size] = rows;
    if (!size) continue;
    const count = Number(size.rows);
    if (count >= 0 ? count < largeFromRows : Number(size.bytes) < largeFromBytes) continue;
    const scan = { table: size.name, rows: count >= 0 ? count : undefined };
    if (found.some((one) => one.table === scan.table)) continue;
    found.push({ ...scan, remedy: remedyOf(scan, columns, JSON.parse(size.indexed)) });
  }
  return found;
}

async function planOf(client: pg.ClientBase, text: string, values: unknown[]): Promise<PlanNode> {
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain (verbose, format json) ${text}`, values);
  const [{ Plan: plan }] = JSON.parse(rows[0]?.['QUERY PLAN'] ?? '') as [{ Plan: PlanNode }];
  return plan;
}

function remedyOf(
  { table, rows }: { table: string; rows: number | undefined },
  columns: readonly string[],
  indexed: readonly string[],
): string {
  if (rows === undefined) return `run: analyze ${table}`;
  const [first] = columns;
  if (first === undefined) return 'compare a column of it that has an index, without a function around the column';
  if (!indexed.includes(first)) return `create index on ${table} (${first})`;
  return `${first} has an index that does not serve here: select and compare the column as it is, without a function or a cast around it`;
}
