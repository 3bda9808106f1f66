import type { Finding } from './judge-orders.ts';
import type { End, Stage } from './stage.ts';

const tablesSql = `select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('sync', 'bullmq') and c.relkind = 'r' order by 1`;

/** Rows of each table of review-sync's own. */
export async function countRows({ warehouse }: Stage): Promise<Map<string, number>> {
  const tables = (await warehouse(tablesSql)).map((row) => String(row.name));
  const counts = tables.map((name) => `select '${name}' as name, count(*)::integer as rows from ${name}`);
  const rows = await warehouse(counts.join(' union all '));
  return new Map(rows.map((row) => [String(row.name), Number(row.rows)]));
}

/** The state that review-sync keeps, and what the last runs of a quiet day said. */
export async function judgeState(stage: Stage, ends: readonly End[], _day: number): Promise<Finding[]> {
  const [open] = await stage.warehouse(`select
    (select count(*)::integer from sync.dead_letters where resolved_at is null) as letters,
    (select count(*)::integer from sync.open_gaps) as gaps,
    (select count(*)::integer from sync.runs where finished_at is null) as runs`);
  const findings: Finding[] = [];
  for (const { args, status, stderr, stdout } of ends) {
    if (status === 0 || Number(open?.letters) > 0) continue;
    findings.push(`${args.join(' ')} is incomplete on a quiet day, without any dead letter: ${stderr}${stdout}`);
  }
  if (Number(open?.runs) > 0) findings.push(`${open?.runs} runs have not ended on a quiet day`);
  if (Number(open?.gaps) > 0) findings.push(`${open?.gaps} gaps of reviews are open on a quiet day`);
  return findings;
}
