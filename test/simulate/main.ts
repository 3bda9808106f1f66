/**
 * Prints each seed whose world is not as it should be, and then ends with status 1; docs/testing.md has examples. A
 * single seed is shown with its story, several (`1..30,57`) with the hash of theirs. `--with kills,orders=1` sets these
 * parts of the nature of all worlds (world.ts). `--postgres`, `--from` and `--step` are for processes beside others.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { packagePath } from '../../src/base/package-path.ts';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { statement } from '../../src/warehouse/index.ts';
import { cheapestFolder, cheapSettings, makeConnectionsCheap } from '../harness/servers.ts';
import { brandNames, simulateBrands } from './brands.ts';
import { openSimulatedDatabase } from './database.ts';
import { installNetwork } from './network.ts';
import { createScheduler, installVirtualTime, type Process, realNow } from './scheduler.ts';
import { type Nature, simulateWorld } from './world.ts';

const { values } = parseArgs({
  options: {
    brands: { type: 'boolean' },
    days: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    from: { type: 'string' },
    with: { type: 'string' },
    postgres: { type: 'string' },
    jobs: { type: 'string' },
    step: { type: 'string' },
  },
});

const server = values.postgres
  ? undefined
  : await startEmbeddedDatabase({
      temporaryIn: await cheapestFolder(),
      settings: [...cheapSettings, 'fsync=off'],
    });
if (server) await makeConnectionsCheap(server.url('postgres'));
const jobs = Number(values.jobs ?? 1);
if (server && jobs > 1) {
  const from = Number(values.from ?? 1);
  const children = await Promise.all(
    Array.from({ length: jobs }, async (_, at) => {
      const address = await server.createDatabase(`simulated_${at}`);
      const more = ['--postgres', address, '--jobs', '1', '--from', String(from + at), '--step', String(jobs)];
      return spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1), ...more], { stdio: 'inherit' });
    }),
  );
  const ends = await Promise.all(children.map((child) => once(child, 'exit')));
  await server.close();
  process.exit(ends.some(([code]) => code === 1) ? 1 : 0);
}
installNetwork();
installVirtualTime();
const url = values.postgres ?? (await (server as NonNullable<typeof server>).createDatabase('simulated'));
const database = await openSimulatedDatabase(url);
const scheduler = createScheduler(1, Date.parse('2026-03-01T00:00:00Z'));
const migrator: Process = { name: 'migrator', scheduler, isDead: false, frozenUntilMs: 0, clockErrorMs: 0 };
const simulate = values.brands ? simulateBrands : simulateWorld;
await database.migrate(scheduler, migrator, values.brands ? brandNames : [undefined]);

const unexpected: string[] = [];
process.on('unhandledRejection', (error) =>
  unexpected.push(error instanceof Error ? (error.stack ?? error.message) : String(error)),
);

const given: Partial<Nature> = Object.fromEntries(
  [...(values.with ?? '').matchAll(/(\w+)(?:=([^,]+))?/g)].map(([, name, value = 'true']) => [
    name,
    /^(true|false|[\d.]+)$/.test(value) ? JSON.parse(value) : value,
  ]),
);

// Files are read once. Afterwards a world waits for nothing but the scheduler.
for (const file of await readdir(packagePath('sql', 'warehouse', 'statements')))
  await statement(basename(file, '.sql'));
await simulate(0, database, url, {}, 0);
const named = values.seed === undefined ? undefined : [...seedsIn(values.seed)];
const hasStory = named?.length === 1 && values.days === undefined;
const startedMs = realNow();
const cpuBefore = process.cpuUsage();
const lastMs = startedMs + Number(values.minutes ?? 1) * 60_000;
let [worlds, red] = [0, 0];
for (const seed of named ?? seedsUntil(lastMs)) {
  const beganMs = realNow();
  const end = await simulate(seed, database, url, given, Number(values.days ?? 0));
  worlds += 1;
  const findings = [...end.findings, ...unexpected.splice(0).map((text) => `an unhandled rejection: ${text}`)];
  if (findings.length > 0) red += 1;
  const story = end.story.join('\n');
  if (hasStory) console.log(`${story}\n\n${end.nature}`);
  const cost = `${end.steps} steps, ${end.statements} statements, ${Math.round(realNow() - beganMs)} ms`;
  const hash = createHash('sha256').update(story).digest('hex').slice(0, 12);
  const found = findings.length === 0 ? ' all is as it should be' : ['', ...findings.slice(0, 6)].join('\n  ');
  if (named || findings.length > 0) console.log(`seed ${seed} (${hash}):${found}\n${cost}`);
}
const { user, system } = process.cpuUsage(cpuBefore);
console.log(`cpu ${Math.round((user + system) / 1000 / worlds)} ms a world`);
console.log(`${worlds} worlds in ${((realNow() - startedMs) / 1000).toFixed(1)} s, ${red} not as they should be`);
process.exitCode = red > 0 ? 1 : 0;
await database.close();
await server?.close();

/** `7`, `today`, `1..30`, or several of them with commas. */
function* seedsIn(text: string): Generator<number> {
  for (const part of text.split(',')) {
    const [first, last = first] = part
      .split('..')
      .map((one) => (one === 'today' ? Math.floor(Date.now() / 86_400_000) : Number(one)));
    if (!(Number(first) <= Number(last))) throw new Error(`--seed: expected 7, today or 1..30, found ${part}`);
    for (let seed = Number(first); seed <= Number(last); seed += 1) yield seed;
  }
}

function* seedsUntil(lastMs: number): Generator<number> {
  for (let seed = Number(values.from ?? 1); realNow() < lastMs; seed += Number(values.step ?? 1)) yield seed;
}
