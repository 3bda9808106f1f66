import { chmod, chown, mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isOfThisUserAlone } from '../../src/cli/cache-compiled-files.ts';
import { runProcess } from '../harness/cli.ts';
import { temporaryFolder } from '../harness/folder.ts';

test('a command keeps compiled files in its user’s home, closed to others, or nowhere', async () => {
  const [home, shared] = [await temporaryFolder(), await temporaryFolder()];
  const cache = join(home, '.cache', 'review-sync');
  for (const HOME of [home, '/dev/null'])
    expect(await runProcess(['--version'], { HOME, TMPDIR: shared })).toMatchObject({ status: 0 });
  expect(await readdir(shared)).toEqual([]);
  expect((await stat(cache)).mode & 0o777).toBe(0o700);
  expect(await readdir(cache)).not.toEqual([]);
});

test('a folder is of this user alone if it is private, no link, and below none open', async () => {
  const home = await temporaryFolder();
  const cache = join(home, 'cache');
  await mkdir(cache);
  await symlink(cache, join(home, 'link'));
  const own = async (mode: number, ofHome: number, path = cache) => {
    await chmod(cache, mode);
    await chmod(home, ofHome);
    return isOfThisUserAlone(path);
  };
  expect(await own(0o700, 0o700)).toBe(true);
  // The group may read it; it is a link; the group, or all others, may write above it.
  expect(await own(0o750, 0o700)).toBe(false);
  expect(await own(0o700, 0o700, join(home, 'link'))).toBe(false);
  for (const mode of [0o720, 0o702]) expect(await own(0o700, mode)).toBe(false);
  if (process.getuid?.() !== 0) return;
  for (const foreign of [cache, home]) {
    expect(await own(0o700, 0o700)).toBe(true);
    await chown(foreign, 65534, 65534);
    expect(isOfThisUserAlone(cache)).toBe(false);
    await chown(foreign, 0, 0);
  }
});
