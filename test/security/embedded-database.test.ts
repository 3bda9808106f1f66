import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { query } from '../harness/database.ts';
import { temporaryFolder } from '../harness/folder.ts';

const run = promisify(execFile);

const withPassword = (url: string, password: string) => {
  const changed = new URL(url);
  changed.password = password;
  return changed.href;
};

test('a kept server has a random password, in a folder that no other user can enter', async () => {
  const keepIn = join(await temporaryFolder(0o755), 'postgres');
  const first = await startEmbeddedDatabase({ keepIn });
  try {
    const password = new URL(first.url('postgres')).password;
    expect(password).toMatch(/^[0-9a-f]{48}$/);
    expect(await readFile(join(keepIn, 'password'), 'utf8')).toBe(password);
    expect((await stat(join(keepIn, 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(keepIn)).mode & 0o777).toBe(0o700);
    await expect(query(withPassword(first.url('postgres'), 'review-sync'), 'select 1')).rejects.toThrow(/password/);
    if (process.getuid?.() === 0) {
      const asNobody = { uid: 65534, gid: 65534, cwd: '/' };
      await expect(run('cat', [join(keepIn, 'password')], asNobody)).rejects.toThrow(/denied/);
      await expect(run('ls', [keepIn], asNobody)).rejects.toThrow(/denied/);
    }
    await first.createDatabase('kept');
    // As a version with the constant password left it.
    await query(first.url('postgres'), `alter role postgres password 'review-sync'`);
  } finally {
    await first.close();
  }
  await rm(join(keepIn, 'password'));
  const again = await startEmbeddedDatabase({ keepIn });
  try {
    expect(await query(again.url('kept'), 'select 1 as one')).toEqual([{ one: 1 }]);
    await expect(query(withPassword(again.url('kept'), 'review-sync'), 'select 1')).rejects.toThrow(/password/);
  } finally {
    await again.close();
  }
});

test.skipIf(process.getuid?.() !== 0)(
  'as root, a link in place of the folder is refused, and its target stays as it is',
  async () => {
    const at = await temporaryFolder(0o755);
    await mkdir(join(at, 'target', 'postgres'), { recursive: true });
    await symlink(join(at, 'target', 'postgres'), join(at, 'postgres'));
    await symlink(join(at, 'target'), join(at, 'above'));
    for (const keepIn of [join(at, 'postgres'), join(at, 'above', 'postgres')])
      await expect(startEmbeddedDatabase({ keepIn })).rejects.toThrow(/is a link\. Remove it/);
    expect((await stat(join(at, 'target', 'postgres'))).uid).toBe(0);
  },
);
