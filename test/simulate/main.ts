import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { openClock, virtualTimeEnvironment } from './clock.ts';
import { planSimulation } from './plan.ts';
import { usualRates } from './rates.ts';
import { simulate } from './simulate.ts';

const { values } = parseArgs({ options: { days: { type: 'string', default: '14' }, seed: { type: 'string', default: '1' } } });

if (process.env.FAKETIME_TIMESTAMP_FILE === undefined) process.exitCode = await startInVirtualTime();
else process.exitCode = await main();

async function startInVirtualTime(): Promise<number> {
  const child = spawn(process.execPath, [import.meta.filename, ...process.argv.slice(2)], {
    env: { ...process.env, ...virtualTimeEnvironment() },
    stdio: 'inherit',
  });
  const [status] = await once(child, 'exit');
  return Number(status ?? 1);
}

async function main(): Promise<number> {
  const clock = openClock();
  const plan = planSimulation(Number(values.seed), Number(values.days), usualRates);
  console.log(`seed ${plan.seed}: ${plan.days.length} days from ${plan.start.toISOString()}, ${JSON.stringify(plan.setting)}`);
  clock.set(plan.start);
  const server = await startEmbeddedDatabase();
  try {
    const simulated = await simulate(plan, { server, clock, onDay: (day, line) => console.log(`day ${day.number}: ${line}`) });
    console.log(`${simulated.days} days, ${simulated.runs} runs`);
    if (!simulated.failure) return 0;
    const { day, at, findings, story } = simulated.failure;
    console.log([`day ${day}, ${at}`, ...story, ...findings].join('\n'));
    return 1;
  } finally {
    await server.close();
  }
}
