import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import mysql from 'mysql2/promise';
import { freePort } from '../embedded-postgres/index.ts';

/** The two servers that speak the protocol of MySQL. */
export type MysqlKind = 'mariadb' | 'mysql';

export type LocalMysql = {
  /** `mysql://` address of the server, without a database. Its user is root; MariaDB has a random password for it. */
  url: string;
  /** Where the server keeps its files. */
  directory: string;
  close(): Promise<void>;
};

/**
 * The server program of this machine, if there is one.
 *
 * @param path the PATH to search. Debian keeps servers in a folder that is not on every user's path.
 */
export function findMysqlProgram(kind: MysqlKind, path: string): string | undefined {
  const folders = [...path.split(':'), '/usr/sbin', '/usr/local/sbin'];
  const paths = folders
    .map((folder) => join(folder, kind === 'mariadb' ? 'mariadbd' : 'mysqld'))
    .filter((one) => existsSync(one));
  // Debian's mysqld is a link to mariadbd.
  const isMariadb = (one: string) =>
    execFileSync(one, ['--no-defaults', '--version'], { encoding: 'utf8' }).includes('MariaDB');
  return paths.find((one) => isMariadb(one) === (kind === 'mariadb'));
}

/**
 * Ends the server and removes its data when standard input closes, also if the process that started it was killed. Then
 * nobody reads what the shell says about the killed server, and writing it must not end the shell.
 */
const guard = `exec 3<&0
"$@" 3<&- & server=$!
trap '' PIPE
(while read -r _ <&3; do :; done; kill -9 $server) &
wait $server; rm -rf "$DIRECTORY"`;

/**
 * Starts a server with a new, empty data folder on a free port of 127.0.0.1. It ends with the process that started it.
 * For demo, tests and trying out only: it does not wait for the disk.
 *
 * @param timeZone zone of the server's own clock.
 * @param temporaryIn where its folder is made; default: the system's.
 * @throws Error with the server's own words if it does not start within three minutes.
 */
export async function startLocalMysql(
  kind: MysqlKind,
  program: string,
  timeZone: string,
  temporaryIn = tmpdir(),
): Promise<LocalMysql> {
  const directory = await mkdtemp(join(temporaryIn, `review-sync-${kind}-`));
  const data = `--datadir=${join(directory, 'data')}`;
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : [];
  const [install, ...options] =
    kind === 'mariadb'
      ? ['mariadb-install-db', '--no-defaults', '--skip-test-db', '--auth-root-authentication-method=normal']
      : [program, '--no-defaults', '--initialize-insecure'];
  // A server that starts removes the temporary tables of all servers with the same folder for temporary tables.
  const temporary = `--tmpdir=${directory}`;
  await promisify(execFile)(install ?? '', [...options, data, temporary, ...asRoot]);
  // Run before the server listens: no other user of this machine gets in.
  const password = kind === 'mariadb' ? randomBytes(16).toString('hex') : '';
  const initFile = join(directory, 'init.sql');
  await writeFile(initFile, kind === 'mariadb' ? onlyRootWith(password) : '', { mode: 0o600 });
  const port = await freePort();
  const settings = [
    ...['--no-defaults', data, ...asRoot, `--port=${port}`, '--bind-address=127.0.0.1', '--skip-name-resolve'],
    ...[`--socket=${join(directory, 'socket')}`, `--pid-file=${join(directory, 'pid')}`],
    ...[temporary, `--init-file=${initFile}`],
    ...['--innodb-flush-log-at-trx-commit=0', '--innodb-buffer-pool-size=64M', '--max-connections=300'],
  ];
  // Detached: Ctrl-C reaches only us, so that the server is still there while we close what uses it.
  const variables = [`DIRECTORY=${directory}`, `TZ=${timeZone}`];
  const child = spawn('env', [...variables, 'sh', '-c', guard, 'sh', program, ...settings], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  let log = '';
  child.stderr.on('data', (chunk) => {
    log = `${log}${chunk}`.slice(-4000);
  });
  const exited = once(child, 'exit');
  const close = async () => {
    child.stdin.end();
    await exited;
    await rm(directory, { recursive: true, force: true });
  };
  const url = `mysql://root${password && `:${password}`}@127.0.0.1:${port}`;
  const lastTry = Date.now() + 180_000;
  while (!(await responds(url))) {
    if (child.exitCode !== null || Date.now() > lastTry) {
      await close();
      throw new Error(`${program} did not start: ${log}`);
    }
    await delay(100);
  }
  return { url, directory, close };
}

/** One statement a line, as MariaDB reads such a file. */
const onlyRootWith = (password: string) => `delete from mysql.global_priv where User in ('root', '');
flush privileges;
create user root@'127.0.0.1' identified by '${password}';
grant all privileges on *.* to root@'127.0.0.1' with grant option;
`;

const responds = (url: string): Promise<boolean> =>
  mysql.createConnection({ uri: url }).then(
    async (connection) => {
      await connection.end();
      return true;
    },
    () => false,
  );
