import { chmod, chown, mkdir, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isOfThisUserAlone } from '../../src/cli/cache-compiled-files.ts';
import { runProcess } from '../harness/cli.ts';

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'review-sync-cache-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

test('a command keeps compiled files in the home folder of its user, closed to others, and none in the shared one', async () => {
  const [home, shared] = [await folder(), await folder()];
  const end = await runProcess(['--version'], { HOME: home, TMPDIR: shared });
  expect(end).toMatchObject({ status: 0 });
  expect(await readdir(shared)).toEqual([]);
  const cache = join(home, '.cache', 'review-sync');
  expect((await stat(cache)).mode & 0o777).toBe(0o700);
  expect(await readdir(cache)).not.toEqual([]);
});

test('a command uses no folder for compiled files that another user could write to', async () => {
  const home = await folder();
  const cache = join(home, '.cache', 'review-sync');
  await mkdir(cache, { recursive: true });
  await chmod(cache, 0o777);
  expect(await runProcess(['--version'], { HOME: home })).toMatchObject({ status: 0 });
  expect(await readdir(cache)).toEqual([]);
});

test('a command starts without a home folder', async () => {
  expect(await runProcess(['--version'], { HOME: '/dev/null' })).toMatchObject({ status: 0 });
});

test('a folder is of this user alone when it is private, no link, and no folder above it is open to others', async () => {
  const home = await folder();
  const cache = join(home, 'cache');
  await mkdir(cache, { mode: 0o700 });
  expect(isOfThisUserAlone(cache)).toBe(true);
  await chmod(cache, 0o750);
  expect(isOfThisUserAlone(cache)).toBe(false);
  await chmod(cache, 0o700);
  await symlink(cache, join(home, 'link'));
  expect(isOfThisUserAlone(join(home, 'link'))).toBe(false);
  // Writable for the group, and for all others.
  for (const open of [0o720, 0o702]) {
    await chmod(home, open);
    expect(isOfThisUserAlone(cache)).toBe(false);
  }
});

test.skipIf(process.getuid?.() !== 0)('a folder that another user owns is refused', async () => {
  const home = await folder();
  const cache = join(home, 'cache');
  await mkdir(cache, { mode: 0o700 });
  await chown(cache, 65534, 65534);
  expect(isOfThisUserAlone(cache)).toBe(false);
  await chown(cache, 0, 0);
  await chown(home, 65534, 65534);
  expect(isOfThisUserAlone(cache)).toBe(false);
});
