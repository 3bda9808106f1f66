import { counted } from '../../base/counts.ts';
import type { QueryCost } from '../../shop/explain-queries.ts';
import type { Shop } from '../../shop/index.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

/** A statement that takes longer than this reads more than it needs, whatever its plan says. */
const slowSeconds = 5;

/**
 * Explains and times each statement that runs send to the shop: which file reads a whole table, what it costs, what
 * helps.
 */
export async function checkQueryCosts(shop: Shop): Promise<Finding[]> {
  const costs = await shop.queryCosts();
  if (costs.length === 0) return [];
  // One for each file: its statements fail for the same reason.
  const unexplained = new Map(costs.flatMap(({ file, unexplained: why }) => (why ? [[file, why]] : [])));
  const findings = [
    ...costs.flatMap(costFinding),
    ...[...unexplained].map(([file, why]) =>
      warning(
        `it is unknown whether ${file}.sql reads a large table as a whole: ${why}`,
        'run explain on the query by hand, with a condition on its key, as a user who may read all its tables',
      ),
    ),
  ];
  if (findings.length > 0) return findings;
  const list = costs.map(({ purpose, seconds = 0 }) => `${(seconds * 1000).toFixed(0)} ms to ${purpose}`).join(', ');
  return [ok(`no statement reads a large table as a whole: ${list}`)];
}

function costFinding({ file, purpose, seconds, scans }: QueryCost): Finding[] {
  if (scans.length === 0 && seconds !== undefined && seconds < slowSeconds) return [];
  const took =
    seconds === undefined
      ? 'more than 30 s, or than a limit of the database; then it is cancelled'
      : `${seconds.toFixed(3)} s today`;
  const tables = scans.map(({ table, rows }) => (rows === undefined ? table : `${table} (${counted(rows, 'row')})`));
  const what =
    scans.length > 0 ? `reads the whole of ${tables.join(' and ')} to ${purpose}` : `takes long to ${purpose}`;
  const hint =
    scans.map((scan) => scan.remedy).join('; ') ||
    'run explain analyze on the query with a condition on its key, and see what it reads';
  return [(seconds === undefined ? fault : warning)(`${file}.sql ${what}: ${took}`, hint)];
}
