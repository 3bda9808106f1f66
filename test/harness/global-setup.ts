import type { TestProject } from 'vitest/node';
import { migrateQueue } from '../../src/queue/connection.ts';
import { startEmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { openStore } from '../../src/sandbox/reference-service/store.ts';
import { generateSampleShop } from '../../src/sandbox/sample-shop/generate.ts';
import { loadSampleShop } from '../../src/sandbox/sample-shop/load.ts';
import { prepareBi } from '../../src/warehouse/bi/bi-access.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { migrateWarehouse } from '../../src/warehouse/migrate.ts';
import { cheapestFolder, cheapSettings, makeConnectionsCheap, serveMysqlServers } from './servers.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string;
  }
}

/**
 * One Postgres for all test files, with templates that each test clones. It is removed when the tests are over. The
 * first test that asks for MariaDB or MySQL starts it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const database = await startEmbeddedDatabase({ temporaryIn: await cheapestFolder(), settings: cheapSettings });
  const admin = database.url('postgres');
  await makeConnectionsCheap(admin);

  const migrated = await database.createDatabase('template_migrated');
  const warehouse = await openWarehouse({ url: migrated, connections: 1 });
  await migrateWarehouse(warehouse.db);
  await prepareBi(warehouse, { timeZone: 'Asia/Seoul' });
  await warehouse.close();
  await migrateQueue(migrated);

  const service = await database.createDatabase('template_service');
  const options = { timeZone: 'Asia/Seoul', moneyUnit: 'hundredths', currency: 'KRW' } as const;
  const store = await openStore({ databaseUrl: service, ...options, reviewOptionsForm: 'default' });
  await store.close();
  const sample = generateSampleShop({ seed: 7, orders: 30, reviews: 200, now: new Date() });
  const shop = await database.createDatabase('template_shop');
  await seedReviews(shop, sample.reviews);
  await loadSampleShop(shop, sample);

  project.provide('postgresUrl', admin);
  const mysqlServers = await serveMysqlServers();
  project.provide('mysqlServersUrl', mysqlServers.url);
  return async () => {
    await mysqlServers.close();
    await database.close();
  };
}
