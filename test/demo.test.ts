import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { runProcess } from './harness/cli.ts';
import { temporaryFolder } from './harness/folder.ts';
import { cheapestFolder } from './harness/servers.ts';

test('the demo ends with the same records at both ends', async () => {
  // Run as root, Postgres is another user.
  const folder = await temporaryFolder(0o755, await cheapestFolder());
  const environment = { TMPDIR: folder, PATH: process.env.PATH ?? '' };
  const { status, stdout, stderr } = await runProcess(['demo', '--orders', '9'], environment);
  expect([status, stderr]).toEqual([0, expect.stringContaining('sync orders: done. Nothing to do.')]);
  expect((await readdir(folder)).filter((name) => name.startsWith('review-sync-'))).toEqual([]);
  expect(stderr).toContain('60 reviews, ');
  expect(stderr).toContain('Shop and service agree in all that could be compared.');
  expect(stderr).toContain('Service and warehouse hold the same reviews.');
  expect(stdout).toMatch(/── what is missing ─+\n.*\n\(no row: nothing\)\n/s);
});
