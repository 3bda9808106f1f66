/**
 * `npm run mutate`: breaks the program on purpose, in a copy of the work tree, and shows which tests notice: about a
 * minute each. `npm run mutate watermark "full page"`: only those whose name holds one of the texts.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Mutation, mutations } from './mutations.ts';

const root = resolve(import.meta.dirname, '../..');
/** A mutation may leave a test that never ends. */
const longestRunMs = 600_000;

const texts = process.argv.slice(2);
const chosen = mutations.filter(({ name }) => texts.length === 0 || texts.some((text) => name.includes(text)));
const copy = await copyOfWorkTree();
try {
  for (const mutation of chosen) {
    const outcome = await outcomeOf(mutation);
    if (!outcome.startsWith('caught')) process.exitCode = 1;
    console.log(`${mutation.name}: ${outcome}`);
  }
} finally {
  await rm(copy, { recursive: true, force: true });
}

async function copyOfWorkTree(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'review-sync-mutation-'));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const file of listed.toString().split('\0').filter(Boolean)) {
    // A file that was deleted and not yet committed is still listed.
    await cp(join(root, file), join(folder, file)).catch(() => {});
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** A test that fails without the mutation too shows nothing. */
async function outcomeOf({ file, find, replace, tests }: Mutation): Promise<string> {
  const path = join(copy, file);
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text.split(find).length !== 2) return `MISFIT: ${file} does not hold its text exactly once`;
  for (const test of tests) {
    await writeFile(
      path,
      text.replace(find, () => replace),
    );
    const isRed = !passes(test);
    await writeFile(path, text);
    if (isRed) return passes(test) ? `caught by ${test}` : `UNKNOWN: ${test} fails without it too`;
  }
  return `SURVIVES ${tests.join(', ')}`;
}

/** Whether a test file passes, or one test of it. */
function passes(test: string): boolean {
  const [file = test, name] = test.split(' > ');
  const args = [join(copy, 'node_modules/vitest/vitest.mjs'), 'run', file, '--bail=1'];
  if (name !== undefined) args.push('-t', name);
  return spawnSync(process.execPath, args, { cwd: copy, stdio: 'ignore', timeout: longestRunMs }).status === 0;
}
