import { execFile } from 'node:child_process';
import { mkdir, readFile, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { query } from '../harness/database.ts';
import { temporaryFolder } from '../harness/folder.ts';

const run = promisify(execFile);

test('a kept server has a random password, in a folder that no other user can enter', async () => {
  const keepIn = join(await temporaryFolder(0o755), 'postgres');
  const first = await startEmbeddedDatabase({ keepIn });
  try {
    const password = new URL(first.url('postgres')).password;
    expect(password).toMatch(/^[0-9a-f]{48}$/);
    expect(await readFile(join(keepIn, 'password'), 'utf8')).toBe(password);
    expect((await stat(join(keepIn, 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(keepIn)).mode & 0o777).toBe(0o700);
    const known = Object.assign(new URL(first.url('postgres')), { password: 'review-sync' });
    await expect(query(known.href, 'select 1')).rejects.toThrow(/password/);
    if (process.getuid?.() === 0) {
      const asNobody = { uid: 65534, gid: 65534, cwd: '/' };
      await expect(run('cat', [join(keepIn, 'password')], asNobody)).rejects.toThrow(/denied/);
      await expect(run('ls', [keepIn], asNobody)).rejects.toThrow(/denied/);
    }
  } finally {
    await first.close();
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
