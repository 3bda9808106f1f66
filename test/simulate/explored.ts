import { countRows } from './judge-state.ts';
import { happenings, offsetMs, type Plan } from './plan.ts';
import type { Simulated } from './simulate.ts';
import type { Stage } from './stage.ts';

const dayMs = 86_400_000;

/**
 * What a simulation has gone through: days, happenings, runs and how they ended, comparisons, and where the real time
 * went.
 */
export function describeExplored(plan: Plan, { days, tally }: Simulated): string {
  const lived = { ...plan, days: plan.days.slice(0, days) };
  const offline = lived.days.filter((day) => day.isOffline).length;
  const kinds = Map.groupBy(happenings(lived), ({ kind }) => kind);
  const counts = new Map([...kinds].map(([kind, all]) => [kind, all.length]));
  const totalMs = sum(tally.spentMs);
  const shares = [...tally.spentMs].map(([name, ms]) => `${name} ${Math.round((100 * ms) / totalMs)} %`);
  return [
    `Explored: ${days} days, ${offline} of them without any run, ${clockChanges(lived)} changes of the clocks`,
    `  happenings: ${list(counts)}`,
    `  ${sum(tally.ends)} runs, by exit status: ${list(tally.ends)}`,
    `  ${sum(tally.comparisons)} comparisons of both sides: ${list(tally.comparisons)}`,
    `  real time: ${shares.join(', ')}`,
  ].join('\n');
}

export const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((all, one) => all + one, 0);

const list = (counts: ReadonlyMap<string, number>) =>
  [...counts]
    .map(([name, count]) => `${name} ${count}`)
    .sort()
    .join(', ');

function clockChanges({ start, days, setting: { zone } }: Plan): number {
  const offsets = days.map((_, day) => offsetMs(zone, start.getTime() + day * dayMs));
  return offsets.filter((offset, day) => day > 0 && offset !== offsets[day - 1]).length;
}

/** What the sides hold, and what review-sync keeps: a year must not make it grow without bound. */
export async function describeSizes(stage: Stage): Promise<string> {
  const { shop, atService, warehouse } = stage;
  const [rows, [inShop], [inService], [state]] = await Promise.all([
    countRows(stage),
    shop('select (select count(*) from orders) as orders, (select count(*) from lines) as lines'),
    atService('select count(*) as reviews from reference_service.reviews'),
    warehouse(`select count(*) filter (where resolved_at is null) as open, count(*) as dead_letters,
      (select round(sum(pg_total_relation_size(c.oid)) / 1e6) from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('sync', 'bullmq') and c.relkind = 'r') as megabytes
      from sync.dead_letters`),
  ]);
  const largest = [...rows].sort(([, a], [, b]) => b - a).slice(0, 5);
  return [
    `${inShop?.orders} orders with ${inShop?.lines} lines, ${inService?.reviews} reviews`,
    `${state?.dead_letters} dead letters (${state?.open} open), ${state?.megabytes} MB of state`,
    `most rows in ${largest.map(([name, count]) => `${name} ${count}`).join(', ')}`,
  ].join(', ');
}
