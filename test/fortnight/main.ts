/**
 * `npm run fortnight -- --days 365 --seed 7`: the real flows live through a year; docs/testing.md says what of.
 *
 *     --days N       default 14
 *     --seed N       default 1; all choices come from it. `today` takes the date
 *     --verbose      what happened on each day
 */
import { parseArgs } from 'node:util';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { cheapestFolder, makeConnectionsCheap } from '../harness/cheap-postgres.ts';
import { openClock } from './clock.ts';
import { countRows } from './judge-state.ts';
import { happenings, type Plan, planSimulation } from './plan.ts';
import { usualRates } from './rates.ts';
import { type Failure, type Hands, type Simulated, simulate } from './simulate.ts';
import type { Stage } from './stage.ts';

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '14' },
    seed: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const seed =
    values.seed === 'today' ? Number(new Date().toISOString().slice(0, 10).replaceAll('-', '')) : whole('seed');
  const plan = planSimulation(seed, whole('days'), usualRates);
  const clock = openClock();
  const setting = Object.entries(plan.setting).map(([name, value]) => `${name} ${value}`);
  console.log(`seed ${plan.seed}: ${plan.days.length} days from ${plan.start.toISOString()}; ${setting.join(', ')}`);
  clock.set(plan.start);
  const temporaryIn = await cheapestFolder();
  const server = await clock.startInVirtualTime(() => startEmbeddedDatabase({ temporaryIn }));
  const startedMs = performance.now();
  const onDay: Hands['onDay'] = async (day, story, stage) => {
    if (values.verbose) console.log([`day ${day.number}`, ...story].join('\n'));
    if (day.number % 30 === 0) console.log(`day ${day.number}: ${await largestTables(stage)}`);
  };
  try {
    await makeConnectionsCheap(server.url('postgres'));
    const simulated = await simulate(plan, { server, clock, onDay });
    console.log(explored(plan, simulated));
    console.log(`${simulated.days} days took ${Math.round((performance.now() - startedMs) / 1000)} s`);
    if (simulated.failure) console.log(describe(plan, simulated.failure));
    return simulated.failure ? 1 : 0;
  } finally {
    await server.close();
    clock.close();
  }
}

/** What a simulation has gone through. */
function explored(plan: Plan, { days, tally }: Simulated): string {
  const lived = { ...plan, days: plan.days.slice(0, days) };
  const kinds = Map.groupBy(happenings(lived), ({ kind }) => kind);
  const counts = new Map([...kinds].map(([kind, all]) => [kind, all.length]));
  return [
    `Explored: ${days} days, ${lived.days.filter((day) => day.isOffline).length} of them without any run`,
    `  happenings: ${list(counts)}`,
    `  runs, by exit status: ${list(tally.ends)}`,
    `  comparisons of both sides: ${list(tally.comparisons)}`,
  ].join('\n');
}

function list(counts: ReadonlyMap<string, number>): string {
  const all = [...counts].map(([name, count]) => `${name} ${count}`);
  return all.sort().join(', ');
}

/** What review-sync keeps: a year must not make it grow without bound. */
async function largestTables(stage: Stage): Promise<string> {
  return list(new Map([...(await countRows(stage))].sort(([, a], [, b]) => b - a).slice(0, 5)));
}

function describe({ seed, days }: Plan, { day, at, story, findings }: Failure): string {
  const shown = findings.slice(0, 20);
  const more = findings.length - shown.length;
  return [
    `FAILED: seed ${seed}, day ${day} of ${days.length}, virtual time ${at}`,
    ...story,
    ...shown.map((finding) => `  ✗ ${finding}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    `Again: npm run fortnight -- --days ${days.length} --seed ${seed}`,
  ].join('\n');
}

function whole(name: 'seed' | 'days'): number {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number >= 0) return number;
  console.error(`--${name} is ${JSON.stringify(values[name])}, expected a whole number`);
  process.exit(2);
}
