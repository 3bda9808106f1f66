import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import pg from 'pg';

/**
 * A folder in memory where there is one with room, else the system's for temporary files. A database has 300 files: on
 * ext4 a clone costs 160 ms of processor time, in memory 14 ms.
 */
export async function cheapestFolder(): Promise<string> {
  const inMemory = '/dev/shm';
  const tmpfs = 0x01021994;
  const folder = await statfs(inMemory).catch(() => undefined);
  const hasRoom = folder?.type === tmpfs && folder.bavail * folder.bsize >= 6 * 2 ** 30;
  return hasRoom ? inMemory : tmpdir();
}

/**
 * The kernel copies the files of a database for Postgres, which takes 13 ms of processor time for a warehouse instead
 * of 17.
 */
export const cheapSettings = process.platform === 'win32' ? [] : ['file_copy_method=clone'];

/**
 * A command opens five connections or more. With SCRAM each costs the server 4.4 ms of processor time and the client
 * 2.5 ms, with the password as it is, which never leaves the machine, 3.1 and 1.0 ms.
 */
export async function makeConnectionsCheap(admin: string): Promise<void> {
  const client = new pg.Client({ connectionString: admin });
  const { user, password } = client;
  await client.connect();
  try {
    const { rows } = await client.query<{ hba_file: string }>('show hba_file');
    for (const statement of [
      `copy (select 'host all all 127.0.0.1/32 password') to ${client.escapeLiteral(rows[0]?.hba_file ?? '')}`,
      // The server computes as many rounds again to check a password.
      'alter system set scram_iterations = 1',
      'set scram_iterations = 1',
      `alter role ${client.escapeIdentifier(user ?? '')} password ${client.escapeLiteral(String(password))}`,
      'select pg_reload_conf()',
    ]) {
      await client.query(statement);
    }
  } finally {
    await client.end();
  }
}

/** Executes the statements one by one over a connection of their own. */
export async function execute(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
