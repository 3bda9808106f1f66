import { packagePath } from '../../base/package-path.ts';
import type { ShopFacts } from '../../shop/driver.ts';
import type { QueryCost } from '../../shop/explain-queries.ts';
import type { Shop } from '../../shop/index.ts';
import { formatCount } from '../status-view.ts';
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
  const findings = [...costs.flatMap(costFinding), ...unexplainedFindings(costs)];
  if (!(await shop.hasFeed())) {
    const isSlow = costs.some((cost) => cost.purpose.startsWith('find what changed') && costFinding(cost).length > 0);
    if (isSlow) {
      const what = 'there is no changed_orders.sql: what changed is looked for by updated_at of orders.sql';
      findings.push(warning(what, `write changed_orders.sql as ${packagePath('docs', 'connecting.md')} shows`));
    }
  }
  if (findings.length > 0) return findings;
  const list = costs.map(({ purpose, seconds = 0 }) => `${(seconds * 1000).toFixed(0)} ms to ${purpose}`).join(', ');
  return [ok(`no statement reads a large table as a whole: ${list}`)];
}

/** One for each file: its statements fail for the same reason. */
function unexplainedFindings(costs: readonly QueryCost[]): Finding[] {
  const byFile = new Map(costs.flatMap(({ file, unexplained }) => (unexplained ? [[file, unexplained]] : [])));
  return [...byFile].map(([file, why]) =>
    warning(
      `it is unknown whether ${file}.sql reads a large table as a whole: ${why}`,
      'run explain on the query by hand, with a condition on its key, as a user who may read all its tables',
    ),
  );
}

function costFinding({ file, purpose, seconds, scans }: QueryCost): Finding[] {
  const took = seconds === undefined ? 'more than 30 s, then it is cancelled' : `${shownSeconds(seconds)} today`;
  if (scans.length > 0) {
    const tables = scans.map(({ table, rows }) =>
      rows === undefined ? table : `${table} (${formatCount(rows)} rows)`,
    );
    const what = `${file}.sql reads the whole of ${tables.join(' and ')} to ${purpose}: ${took}`;
    const remedy = scans.map((scan) => scan.remedy).join('; ');
    return [seconds === undefined ? fault(what, remedy) : warning(what, remedy)];
  }
  if (seconds !== undefined && seconds < slowSeconds) return [];
  const what = `${file}.sql takes long to ${purpose}: ${took}`;
  const hint = 'run explain analyze on the query with a condition on its key, and see what it reads';
  return [seconds === undefined ? fault(what, hint) : warning(what, hint)];
}

const shownSeconds = (seconds: number) =>
  seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;

/**
 * The session keeps the shop's search path, so it calls whatever function another role puts into a schema of that path.
 */
export function checkSearchPath({ openSchemas, user }: ShopFacts): Finding[] {
  if (openSchemas.length === 0) return [];
  const schemas = openSchemas.join(', ');
  const what = `every role of the shop's database may create functions in the schema ${schemas}: one could read what ${user} may read`;
  return [warning(what, `let its owner run: revoke create on schema ${schemas} from public`)];
}

/** MyISAM ignores transactions: an order and its lines may be read in two states. The next reading corrects it. */
export function checkEngines({ withoutSnapshot }: ShopFacts): Finding[] {
  if (withoutSnapshot.length === 0) return [];
  const [first, second, third, ...more] = withoutSnapshot;
  const names = [first, second, third].filter((name) => name !== undefined).join(', ');
  const what =
    `the engine of ${names}${more.length > 0 ? ` and ${more.length} more tables` : ''} has no transactions ` +
    '(MyISAM): an order that changes while it is read may be pushed half changed, ' +
    'until the next run reads it again';
  return [warning(what, `convert what the queries read: alter table ${first} engine = InnoDB`)];
}
