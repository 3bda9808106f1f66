import { mkdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { temporaryFolder } from '../harness/folder.ts';

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
