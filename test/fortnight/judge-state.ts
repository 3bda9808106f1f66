import { differencesByRow } from '../harness/views-by-row.ts';
import type { Finding } from './judge-orders.ts';
import type { End, Sides } from './stage.ts';

const tablesSql = `select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('sync', 'bullmq') and c.relkind = 'r' order by 1`;

type Sizes = Record<'orders' | 'lines' | 'reviews', number>;

/**
 * What the size of a table follows, where it is not the number of runs in the last 90 days. A table of counts behind bi
 * has at most one row for each review or line in it.
 */
const follows: Readonly<Record<string, keyof Sizes>> = {
  'sync.order_links': 'orders',
  'sync.sub_order_links': 'lines',
  'sync.delivery_delay_counts': 'lines',
  'sync.review_day_counts': 'reviews',
  'sync.product_counts': 'reviews',
};

/** BullMQ keeps about 10,000 events a queue. */
const mostEvents = 40_000;

/**
 * The most rows that a table may have on a day. Twice what it follows: things that are gone, and values that are no
 * more, leave rows.
 */
function mostRows(name: string, day: number, sizes: Sizes): number {
  if (name === 'bullmq.event') return mostEvents;
  const size = follows[name];
  return size === undefined ? 400 + 20 * Math.min(day, 100) : 400 + 2 * sizes[size];
}

/** What there is, by the tables of all three sides. Reviews that are marked deleted count. */
async function sizesOf({ shop, atService, warehouse }: Sides): Promise<Sizes> {
  const [[inShop], [inService], [stored]] = await Promise.all([
    shop('select (select count(*) from orders) as orders, (select count(*) from lines) as lines'),
    atService(`select (select count(*) from reference_service.orders) as orders,
      (select count(*) from reference_service.sub_orders) as lines`),
    warehouse('select count(*) as reviews from warehouse.reviews'),
  ]);
  const larger = (name: string) => Math.max(Number(inShop?.[name]), Number(inService?.[name]));
  return { orders: larger('orders'), lines: larger('lines'), reviews: Number(stored?.reviews) };
}

/** Rows of each table of review-sync's own. */
export async function countRows({ warehouse }: Sides): Promise<Map<string, number>> {
  const tables = (await warehouse(tablesSql)).map((row) => String(row.name));
  const counts = tables.map((name) => `select '${name}' as name, count(*)::integer as rows from ${name}`);
  const rows = await warehouse(counts.join(' union all '));
  return new Map(rows.map((row) => [String(row.name), Number(row.rows)]));
}

/**
 * The state that review-sync keeps, and what the last runs of a quiet day said.
 *
 * @param openRuns runs that had not ended on the quiet evening before; afterwards those of this one. The queue hands
 *   the run of a killed command to the second command after it, which may end before that run does. It hands a
 *   scheduled run to workers only: the simulation starts one on an evening on which such a run is open.
 */
export async function judgeState(
  sides: Sides,
  { ends, day, openRuns }: { ends: readonly End[]; day: number; openRuns: Set<string> },
): Promise<Finding[]> {
  const [open] = await sides.warehouse(`select
    (select count(*)::integer from sync.dead_letters where resolved_at is null) as "deadLetters",
    (select count(*)::integer from sync.open_gaps) as gaps,
    (select string_agg(key || ': ' || reason, '; ') from sync.dead_letters
      where resolved_at is null and kind = 'webhook') as webhooks`);
  const findings: Finding[] = [];
  for (const { args, status, stderr, stdout } of ends) {
    if (status === 0 || Number(open?.deadLetters) > 0) continue;
    findings.push(`${args.join(' ')} is incomplete on a quiet day, without any dead letter: ${stderr}${stdout}`);
  }
  const sizes = await sizesOf(sides);
  for (const [name, rows] of await countRows(sides)) {
    const most = mostRows(name, day, sizes);
    if (rows > most) findings.push(`${name} has ${rows} rows on day ${day}, expected at most ${most}`);
  }
  // A webhook may have landed since the last run.
  const [touches] = await sides.warehouse('select count(*)::integer as n from sync.touches');
  const differing = touches?.n === 0 ? await differencesByRow(sides.warehouse) : [];
  for (const [view, row] of new Map(differing.map((one) => [one.view, one.row]))) {
    findings.push(`bi.${view} differs from the rows: ${JSON.stringify(row)}`);
  }
  if (open?.webhooks) findings.push(`webhooks are dead letters though nothing is wrong with them: ${open.webhooks}`);
  const running = (await sides.warehouse('select id from sync.runs where finished_at is null')).map(({ id }) =>
    String(id),
  );
  const stuck = running.filter((id) => openRuns.has(id));
  if (stuck.length > 0) findings.push(`runs have not ended since the quiet day before: ${stuck.join(', ')}`);
  openRuns.clear();
  for (const id of running) openRuns.add(id);
  if (Number(open?.gaps) > 0) findings.push(`${open?.gaps} gaps of reviews are open on a quiet day`);
  return findings;
}
