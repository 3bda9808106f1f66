import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

/** The password of all servers whose data is kept from versions up to 0.1. */
const passwordOfOldVersions = 'review-sync';

export const randomSecret = () => randomBytes(24).toString('hex');

/**
 * A secret in a file of the server's folder. It is made at random the first time, and stays as long as the data does.
 */
export async function keptSecret(directory: string, name: string): Promise<string> {
  const file = join(directory, name);
  const made = randomSecret();
  try {
    await writeFile(file, made, { mode: 0o600, flag: 'wx' });
    return made;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    return (await readFile(file, 'utf8')).trim();
  }
}

/** Gives a server of an old version the password in its file. */
export async function setPassword(port: number, password: string): Promise<void> {
  const connect = async (given: string) => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres', password: given });
    await client.connect();
    return client;
  };
  let client: pg.Client;
  try {
    client = await connect(password);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === '28P01')) throw error;
    client = await connect(passwordOfOldVersions);
    await client.query(`alter role postgres password ${client.escapeLiteral(password)}`);
  }
  await client.end();
}
