import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withRedis } from '../../src/queue/connection.ts';
import { freePort } from '../../src/sandbox/embedded-postgres/index.ts';

/** Whether the path has a redis-server. With REQUIRE_REDIS=1 its absence is an error: CI must not skip. */
export const hasRedis: boolean = (() => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    if (process.env.REQUIRE_REDIS === '1') throw new Error('REQUIRE_REDIS=1, but there is no redis-server on the path');
    return false;
  }
})();

/** A Redis of its own on a free port, which keeps nothing. */
export async function startRedis(more: readonly string[] = []): Promise<{ url: string; close(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'review-sync-redis-'));
  const port = await freePort();
  const options = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    directory,
    ...more,
  ];
  const server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] });
  let words = '';
  for await (const chunk of server.stdout) {
    words += String(chunk);
    if (words.includes('Ready to accept connections')) break;
  }
  if (server.exitCode !== null) throw new Error(`redis-server did not start: ${words}`);
  return {
    url: `redis://127.0.0.1:${port}`,
    async close() {
      const exited = once(server, 'exit');
      server.kill('SIGKILL');
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Forgets every job and schedule of a Redis that several tests share. */
export async function emptyRedis(url: string): Promise<void> {
  await withRedis(url, (client) => client.flushall());
}
