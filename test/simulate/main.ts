/**
 * `npm run simulate -- --days 365 --seed 7`: the real flows live through a year; docs/testing.md says what of.
 *
 *     --days N       default 14
 *     --seed N       default 1; all choices come from it. `today` takes the date
 *     --tries N      simulations for finding the shortest failing prefix, default 40; 0: only the failure is shown
 *     --verbose      what happened on each day
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { openClock, virtualTimeEnvironment } from './clock.ts';
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

if (process.env.FAKETIME_TIMESTAMP_FILE === undefined) process.exitCode = await startInVirtualTime();
else process.exitCode = await main();

/** Starts this file once more. `--seed today` is worked out here, where the clock is still the real one. */
async function startInVirtualTime(): Promise<number> {
  const seed = values.seed === 'today' ? new Date().toISOString().slice(0, 10).replaceAll('-', '') : values.seed;
  const environment = virtualTimeEnvironment();
  const args = [...process.argv.slice(2), '--seed', seed];
  const child = spawn(process.execPath, [import.meta.filename, ...args], {
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  });
  const [status] = await once(child, 'exit');
  rmSync(dirname(environment.FAKETIME_TIMESTAMP_FILE ?? ''), { recursive: true, force: true });
  return Number(status ?? 1);
}

async function main(): Promise<number> {
  const clock = openClock();
  const plan = planSimulation(whole('seed'), whole('days'), usualRates);
  const setting = Object.entries(plan.setting).map(([name, value]) => `${name} ${value}`);
  console.log(`seed ${plan.seed}: ${plan.days.length} days from ${plan.start.toISOString()}; ${setting.join(', ')}`);
  clock.set(plan.start);
  const server = await startEmbeddedDatabase();
  const startedMs = performance.now();
  const onDay: Hands['onDay'] = (day, story) => {
    if (values.verbose) console.log([`day ${day.number}`, ...story].join('\n'));
    else if (day.number % 30 === 0) console.log(`day ${day.number}`);
  };
  try {
    const { days, runs, failure } = await simulate(plan, { server, clock, onDay });
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    const kinds = Map.groupBy(happenings(plan), ({ kind }) => kind);
    const counts = [...kinds].map(([kind, all]) => `${kind} ${all.length}`).sort();
    console.log(`${days} days, ${runs} runs, ${seconds} s. What happened: ${counts.join(', ')}`);
    if (!failure) return 0;
    console.log(describe(plan, failure));
    await findShortest(plan, failure, { server, clock });
    return 1;
  } finally {
    await server.close();
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
