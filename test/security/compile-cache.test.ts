import { chmod, chown, mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isOfThisUserAlone } from '../../src/cli/cache-compiled-files.ts';
import { runProcess } from '../harness/cli.ts';
import { temporaryFolder } from '../harness/folder.ts';

test('a command keeps compiled files in its user’s home, closed to others, or nowhere', async () => {
  const [home, shared, open] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()];
  const cacheIn = (at: string) => join(at, '.cache', 'review-sync');
  await mkdir(cacheIn(open), { recursive: true });
  await chmod(cacheIn(open), 0o777);
  for (const HOME of [home, open, '/dev/null'])
    expect(await runProcess(['--version'], { HOME, TMPDIR: shared })).toMatchObject({ status: 0 });
  expect(await readdir(shared)).toEqual([]);
  expect((await stat(cacheIn(home))).mode & 0o777).toBe(0o700);
  expect(await readdir(cacheIn(home))).not.toEqual([]);
  expect(await readdir(cacheIn(open))).toEqual([]);
});

test('a folder is of this user alone if it is private, no link, and below none open', async () => {
  const home = await temporaryFolder();
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
  if (process.getuid?.() !== 0) return;
  await chmod(home, 0o700);
  expect(isOfThisUserAlone(cache)).toBe(true);
  await chown(cache, 65534, 65534);
  expect(isOfThisUserAlone(cache)).toBe(false);
  await chown(cache, 0, 0);
  await chown(home, 65534, 65534);
  expect(isOfThisUserAlone(cache)).toBe(false);
});
