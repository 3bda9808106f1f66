import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrateQueue } from '../../src/queue/connection.ts';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { openStore } from '../../src/sandbox/reference-service/store.ts';
import { generateSampleShop } from '../../src/sandbox/sample-shop/generate.ts';
import { loadSampleShop } from '../../src/sandbox/sample-shop/load.ts';
import { prepareBi } from '../../src/warehouse/bi.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';
import { serveMysqlServers } from './mariadb.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string;
  }
}

/**
 * One Postgres for all test files, with templates that each test clones; it is removed when the tests are over. MariaDB and
 * MySQL are started by the first test that asks for them.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const database = await startEmbeddedDatabase({ temporaryIn: await cheapestFolder() });
  const admin = database.url('postgres');
  await makeCheap(admin);

  const migrated = await database.createDatabase('template_migrated');
  const warehouse = await openWarehouse({ url: migrated, connections: 1 });
  await migrateWarehouse(warehouse.db);
  await prepareBi(warehouse, { timeZone: 'Asia/Seoul' });
  await warehouse.close();
  await migrateQueue(migrated);

  const sample = generateSampleShop({ seed: 7, orders: 60, reviews: 200, now: new Date() });
  await loadSampleShop(await database.createDatabase('template_shop'), sample);
  const service = await database.createDatabase('template_service');
  const options = { timeZone: 'Asia/Seoul', moneyUnit: 'hundredths', currency: 'KRW' } as const;
  const store = await openStore({ databaseUrl: service, ...options, reviewOptionsForm: 'default' });
  await store.close();
  await seedReviews(await database.createDatabase('template_reviews'), sample.reviews);

  project.provide('postgresUrl', admin);
  const mysqlServers = await serveMysqlServers();
  project.provide('mysqlServersUrl', mysqlServers.url);
  return async () => {
    await mysqlServers.close();
    await database.close();
  };
}

/**
 * A folder in memory where there is one with room, else the system's for temporary files. A database has 300 files: on ext4 a
 * clone costs 160 ms of processor time, in memory 14 ms.
 */
async function cheapestFolder(): Promise<string> {
  const inMemory = '/dev/shm';
  const tmpfs = 0x01021994;
  const folder = await statfs(inMemory).catch(() => undefined);
  const hasRoom = folder?.type === tmpfs && folder.bavail * folder.bsize >= 6 * 2 ** 30;
  return hasRoom ? inMemory : tmpdir();
}

/** Settings that make a server cheap which clones a thousand databases, and whose data nobody needs afterwards. */
async function makeCheap(admin: string): Promise<void> {
  const client = new pg.Client({ connectionString: admin });
  await client.connect();
  const { user, password } = client;
  const { rows } = await client.query<{ hba_file: string }>('show hba_file');
  for (const statement of [
    // A command opens nine connections. With SCRAM each costs the server 4.4 ms of processor time and the client 2.5 ms, with the
    // password as it is, which never leaves the machine, 3.1 and 1.0 ms.
    `copy (select 'host all all 127.0.0.1/32 password') to ${client.escapeLiteral(rows[0]?.hba_file ?? '')}`,
    // The server computes as many rounds again to check a password.
    'alter system set scram_iterations = 1',
    'set scram_iterations = 1',
    `alter role ${client.escapeIdentifier(user ?? '')} password ${client.escapeLiteral(String(password))}`,
    // Databases of tests are short-lived, and a thousand of them would keep the autovacuum launcher busy.
    'alter system set autovacuum = off',
    'select pg_reload_conf()',
  ]) {
    await client.query(statement);
  }
  await client.end();
}
