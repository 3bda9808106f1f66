import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { createDatabase } from '../harness/database.ts';

const run = promisify(execFile);

/** Compiled files, for the processes after the first: 0.5 of the 2 seconds that one takes to start. */
const compiled = await mkdtemp(join(tmpdir(), 'simulate-'));
afterAll(() => rm(compiled, { recursive: true }));

/** A process of its own: the simulator replaces clocks, timers and drivers of the process in which it runs. */
async function simulate(...options: string[]): Promise<string> {
  const address = await createDatabase();
  const args = [join(import.meta.dirname, 'main.ts'), '--postgres', address, ...options];
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled };
  const ended = await run(process.execPath, args, { env }).catch((error: { stdout: string; stderr: string }) => error);
  return ended.stdout + ended.stderr;
}

const isExhaustive = process.env.EXHAUSTIVE === '1';
const allIsWell = ', 0 not as they should be';
/** The simulator ends what hangs by its own count of steps, so how long a world takes decides nothing. */
const timeout = 3_600_000;

/**
 * Small worlds in which everything of `natureOf` happens at least once. 5 and 7 also find a stale reading and a lost
 * lease.
 */
const ofEachKind = '5,7,8,9,19,21,22,25,32,34,42,45,53';

test('worlds end as they should, and a seed is the same world each time', { timeout }, async () => {
  const today = Math.floor(Date.now() / 86_400_000) * 1000;
  const [fixed, more] = isExhaustive ? ['1..5000', 3000] : [ofEachKind, 4];
  const said = await simulate('--seed', `${fixed},62,9,62,${today}..${today + more}`);
  expect(said).toContain(allIsWell);
  for (const seed of [9, 62]) {
    const hashes = [...said.matchAll(RegExp(`^seed ${seed} \\((\\w+)\\)`, 'gm'))].map(([, hash]) => hash);
    expect(hashes.length).toBeGreaterThan(1);
    expect(new Set(hashes).size).toBe(1);
  }
});

// .ci/run simulates a week in which one brand is restored from a backup.
test('three brands on one warehouse live through a storm, one of them healthy', { timeout }, async () => {
  const worlds = isExhaustive ? ['--days', '7', '--seed', '1..50'] : ['--seed', '1'];
  expect(await simulate('--brands', ...worlds)).toContain(allIsWell);
});
