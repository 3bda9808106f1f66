import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { type Config, readConfig } from '../../app/config.ts';
import { migrateQueue } from '../../queue/connection.ts';
import { prepareBi } from '../../warehouse/bi/bi-access.ts';
import { openWarehouse } from '../../warehouse/index.ts';
import { migrateWarehouse } from '../../warehouse/migrate.ts';
import { type EmbeddedDatabase, freePort, startEmbeddedDatabase } from '../embedded-postgres/index.ts';
import { type ReferenceService, startReferenceService } from '../reference-service/index.ts';

/** All that is needed to try review-sync: one Postgres with three databases, and a review service. */
export type Stage = {
  database: EmbeddedDatabase;
  service: ReferenceService;
  config: Config;
  /** The environment of `config`, in which commands can be run. */
  environment: Record<string, string>;
  urls: { shop: string; warehouse: string; service: string; serviceDatabase: string };
};

export type StageOptions = {
  sqlDir: string;
  timeZone: string;
  /** Fills the shop and the service before the service starts. */
  fill(shopUrl: string, serviceDatabaseUrl: string): Promise<void>;
};

/** Sets up a stage on free ports of 127.0.0.1. Closing `opened` leaves nothing of it behind. */
export async function setStage(opened: AsyncDisposableStack, options: StageOptions): Promise<Stage> {
  const database = await startEmbeddedDatabase();
  opened.defer(() => database.close());
  const [shop, serviceDatabase, warehouse] = [
    await database.createDatabase('shop'),
    await database.createDatabase('reference_service'),
    await database.createDatabase('warehouse'),
  ];
  await options.fill(shop, serviceDatabase);
  const service = await startReferenceService({ databaseUrl: serviceDatabase, timeZone: options.timeZone });
  opened.defer(() => service.close());
  const environment = {
    SHOP_DATABASE_URL: shop,
    SHOP_SQL_DIR: resolve(options.sqlDir),
    SHOP_TIME_ZONE: options.timeZone,
    WAREHOUSE_DATABASE_URL: warehouse,
    REVIEW_API_BASE_URL: service.url,
    REVIEW_API_CLIENT_ID: 'demo',
    REVIEW_API_CLIENT_SECRET: 'demo',
    REVIEW_API_TIME_ZONE: options.timeZone,
    STATUS_TOKEN: randomBytes(16).toString('hex'),
    WEBHOOK_SECRET: randomBytes(16).toString('hex'),
    PORT: String(await freePort()),
    LOG_LEVEL: 'error',
  };
  const config = readConfig(environment);
  await migrate(config);
  return { database, service, config, environment, urls: { shop, warehouse, service: service.url, serviceDatabase } };
}

async function migrate(config: Config): Promise<void> {
  const warehouse = await openWarehouse({ url: config.warehouseDatabaseUrl, connections: 1 });
  try {
    await migrateWarehouse(warehouse.db);
    await migrateQueue(config.queueUrl);
    await prepareBi(warehouse, config.api);
  } finally {
    await warehouse.close();
  }
}
