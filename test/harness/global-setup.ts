import type { TestProject } from 'vitest/node';
import { startEmbeddedDatabase } from '../../src/embedded-database/index.ts';
import { migrateQueue } from '../../src/queue/connection.ts';
import { generateSampleShop } from '../../src/sample-shop/generate.ts';
import { loadSampleShop } from '../../src/sample-shop/load.ts';
import { prepareBi } from '../../src/warehouse/bi.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string;
  }
}

/** One Postgres for all test files, with templates that each test clones; it goes when the tests are over. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const database = await startEmbeddedDatabase();
  const migrated = await database.createDatabase('template_migrated');
  const warehouse = await openWarehouse({ url: migrated, connections: 1 });
  await migrateWarehouse(warehouse.db);
  await prepareBi(warehouse, { timeZone: 'Asia/Seoul' });
  await warehouse.close();
  await migrateQueue(migrated);
  const shop = await database.createDatabase('template_shop');
  await loadSampleShop(shop, generateSampleShop({ seed: 7, orders: 60, reviews: 200, now: new Date() }));
  project.provide('postgresUrl', database.url('postgres'));
  return () => database.close();
}
