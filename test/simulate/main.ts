/**
 * `npm run simulate -- --days 365 --seed 7`: the real flows live through a year; docs/testing.md says what of.
 *
 *     --days N       default 14
 *     --seed N       default 1; all choices come from it. `today` takes the date
 *     --tries N      simulations for finding the shortest failing prefix, default 40; 0: only the failure is shown
 *     --verbose      what happened on each day
 */
import { parseArgs } from 'node:util';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { cheapestFolder, makeConnectionsCheap } from '../harness/cheap-postgres.ts';
import { openClock } from './clock.ts';
import { describeExplored, describeSizes, sum } from './explored.ts';
import { happenings, type Plan, planSimulation } from './plan.ts';
import { usualRates } from './rates.ts';
import { shrink } from './shrink.ts';
import { type Failure, type Hands, simulate } from './simulate.ts';

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '14' },
    seed: { type: 'string', default: '1' },
    tries: { type: 'string', default: '40' },
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
  let lastMs = startedMs;
  const onDay: Hands['onDay'] = async (day, story, stage, { ends }) => {
    if (values.verbose) console.log([`day ${day.number}`, ...story].join('\n'));
    if (day.number % 30 !== 0) return;
    const perDay = (performance.now() - lastMs) / 30_000;
    lastMs = performance.now();
    console.log(`day ${day.number}: ${perDay.toFixed(2)} s a day, ${sum(ends)} runs; ${await describeSizes(stage)}`);
  };
  try {
    await makeConnectionsCheap(server.url('postgres'));
    const simulated = await simulate(plan, { server, clock, onDay });
    const { failure } = simulated;
    console.log(describeExplored(plan, simulated));
    console.log(`${simulated.days} days took ${Math.round((performance.now() - startedMs) / 1000)} s`);
    if (!failure) return 0;
    console.log(describe(plan, failure));
    await findShortest(plan, failure, { server, clock });
    return 1;
  } finally {
    await server.close();
    clock.close();
  }
}

async function findShortest(plan: Plan, { day }: Failure, hands: Hands): Promise<void> {
  const tries = whole('tries');
  if (tries === 0) return;
  let last: Failure | undefined;
  const run = async (smaller: Plan) => {
    const { failure } = await simulate(smaller, hands);
    last = failure ?? last;
    return failure?.day;
  };
  const shrunk = await shrink(plan, day, run, { tries });
  if (!shrunk.isRepeatable) {
    console.log(
      `\nThe first ${day} days did not fail again: it depends on the timing of this machine. Run the seed again.`,
    );
    return;
  }
  const rest = happenings(shrunk.plan).map(({ kind }) => kind);
  console.log(
    `\nThe shortest prefix that fails, after ${shrunk.tries} tries: ${shrunk.plan.days.length} days, ${rest.length} happenings: ${rest.join(', ') || 'none'}`,
  );
  if (last) console.log(describe(shrunk.plan, last));
}

function describe({ seed, days }: Plan, { day, at, story, findings }: Failure): string {
  const shown = findings.slice(0, 20);
  const more = findings.length - shown.length;
  return [
    `FAILED: seed ${seed}, day ${day} of ${days.length}, virtual time ${at}`,
    ...story,
    ...shown.map((finding) => `  ✗ ${finding}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    `Again: npm run simulate -- --days ${days.length} --seed ${seed}`,
  ].join('\n');
}

function whole(name: 'seed' | 'days' | 'tries'): number {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number >= 0) return number;
  console.error(`--${name} is ${JSON.stringify(values[name])}, expected a whole number`);
  process.exit(2);
}
