/**
 * `npm run mutate`: breaks the program on purpose, in a copy, and shows which tests notice.
 *
 *     npm run mutate                       all mutations; about a minute each
 *     npm run mutate watermark "full page" only those whose name holds one of the texts
 *     npm run mutate -- --check            only whether each mutation still fits its file
 *
 * 1. Refuse to begin where the text of a mutation is not in its file exactly once.
 * 2. Copy the work tree.
 * 3. Run each test file once unchanged: one that fails by itself shows nothing.
 * 4. For each mutation: change the file, run its test files until one fails, and change the file back.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Mutation, mutations } from './mutations.ts';

const root = resolve(import.meta.dirname, '../..');
/** A mutation may leave a test that never ends. */
const longestRunMs = 600_000;

const texts = process.argv.slice(2).filter((argument) => argument !== '--check');
const chosen = mutations.filter(({ name }) => texts.length === 0 || texts.some((text) => name.includes(text)));

await requireFit(chosen);
if (process.argv.includes('--check')) console.log(`${chosen.length} mutations, and each fits its file`);
else await mutateAll();

async function requireFit(all: readonly Mutation[]): Promise<void> {
  const misfits: string[] = [];
  for (const { name, file, find } of all) {
    const count = (await readFile(join(root, file), 'utf8').catch(() => '')).split(find).length - 1;
    if (count !== 1) misfits.push(`${file} holds the text ${count} times, expected once: ${name}`);
  }
  if (misfits.length === 0) return;
  console.error([...misfits, 'Correct these in test/mutation/mutations.ts.'].join('\n'));
  process.exit(2);
}

async function mutateAll(): Promise<void> {
  const copy = await copyOfWorkTree();
  const missed: Mutation[] = [];
  try {
    const failsUnchanged = new Map<string, string | undefined>();
    for (const mutation of chosen) {
      const startedMs = performance.now();
      const { kind, why } = await outcomeOf(copy, mutation, failsUnchanged);
      if (kind !== 'caught') missed.push(mutation);
      const seconds = Math.round((performance.now() - startedMs) / 1000);
      console.log(`${kind.padEnd(10)} ${mutation.name} (${seconds} s)\n${''.padEnd(10)} ${why}`);
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  const unexplained = missed.filter(({ survives }) => survives === undefined);
  console.log(`\n${chosen.length - missed.length} of ${chosen.length} mutations were caught`);
  process.exitCode = unexplained.length > 0 ? 1 : 0;
}

async function copyOfWorkTree(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'review-sync-mutation-'));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const file of listed.toString().split('\0').filter(Boolean)) {
    // A file that was deleted and not yet committed is still listed.
    await cp(join(root, file), join(copy, file)).catch(() => {});
  }
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

type Outcome = { kind: 'caught' | 'SURVIVES' | 'UNKNOWN'; why: string };

/** Whether a test fails because of the mutation; `UNKNOWN` where all of its test files fail without it too. */
async function outcomeOf(
  copy: string,
  { file, find, replace, tests, survives }: Mutation,
  failsUnchanged: Map<string, string | undefined>,
): Promise<Outcome> {
  const path = join(copy, file);
  const text = await readFile(path, 'utf8');
  const usable: string[] = [];
  for (const test of tests) {
    if (!failsUnchanged.has(test)) failsUnchanged.set(test, await firstFailure(copy, test));
    if (failsUnchanged.get(test) !== undefined) continue;
    usable.push(test);
    await writeFile(
      path,
      text.replace(find, () => replace),
    );
    const caught = await firstFailure(copy, test);
    await writeFile(path, text);
    if (caught !== undefined) return { kind: 'caught', why: `${test}: ${caught}` };
  }
  if (usable.length > 0) return { kind: 'SURVIVES', why: survives ?? `no test of ${usable.join(', ')} fails` };
  const failures = tests.map((test) => `${test}: ${failsUnchanged.get(test)}`);
  return { kind: 'UNKNOWN', why: `its test files fail without the mutation too: ${failures.join('; ')}` };
}

type VitestReport = {
  testResults: { message: string; assertionResults: { status: string; fullName: string }[] }[];
};

/**
 * Runs a test file, or one test of it, until its first failure, and gives that test's name; undefined where all pass.
 */
async function firstFailure(copy: string, test: string): Promise<string | undefined> {
  const report = join(copy, 'mutation-report.json');
  await rm(report, { force: true });
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs');
  const [file = test, name] = test.split(' > ');
  const args = [vitest, 'run', file, '--bail=1', '--reporter=json', `--outputFile=${report}`];
  if (name !== undefined) args.push('-t', name);
  const run = spawn(process.execPath, args, { cwd: copy, stdio: 'ignore', timeout: longestRunMs });
  const [status] = await once(run, 'exit');
  if (status === 0) return undefined;
  const written = await readFile(report, 'utf8').catch(() => undefined);
  if (written === undefined) return 'the test file does not end';
  const { testResults } = JSON.parse(written) as VitestReport;
  const failed = testResults.flatMap((result) => result.assertionResults).find((result) => result.status === 'failed');
  return failed?.fullName ?? testResults[0]?.message.slice(0, 200) ?? 'no test was found';
}
