import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { findMysqlProgram, startLocalMysql } from '../../src/sandbox/local-mysql/index.ts';
import { temporaryFolder } from '../harness/folder.ts';
import { mysqlKinds } from '../harness/servers.ts';

test.for(mysqlKinds)('a local %s that starts leaves the temporary tables of other servers alone', async (kind) => {
  const folder = await temporaryFolder();
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  await writeFile(join(folder, '#sql-temptable-of-another-server'), '');
  const server = await startLocalMysql(kind, findMysqlProgram(kind, process.env.PATH ?? '') ?? '', 'UTC');
  await server.close();
  expect(await readdir(folder)).toEqual(['#sql-temptable-of-another-server']);
});
