import { setTimeout as delay } from 'node:timers/promises';
import { type App, openApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { openLog } from '../../src/log.ts';
import { type ReferenceService, startReferenceService } from '../../src/reference-service/index.ts';
import { seedReviews } from '../../src/reference-service/seed.ts';
import type { ReferenceServiceOptions } from '../../src/reference-service/service.ts';
import { generateSampleShop } from '../../src/sample-shop/generate.ts';
import { createDatabase, query } from './database.ts';

export type World = AsyncDisposable & {
  shopUrl: string;
  warehouseUrl: string;
  serviceUrl: string;
  serviceDatabaseUrl: string;
  service: ReferenceService;
  /** What the command line needs to work in this world. */
  environment: Record<string, string>;
  warehouse<Row extends Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** The service's own tables. */
  atService<Row extends Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  shop<Row extends Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  openApp(): Promise<App>;
};

export type WorldOptions = {
  /** `sample`: sixty orders of the sample shop, with the reviews of their products at the service. */
  shop?: 'sample' | 'empty';
  service?: Partial<ReferenceServiceOptions>;
  environment?: Record<string, string>;
};

/** A shop, a review service over real HTTP and a migrated warehouse, for one test; all gone afterwards. */
export async function openWorld(options: WorldOptions = {}): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const isSample = options.shop !== 'empty';
  const [shopUrl, warehouseUrl, serviceDatabase] = await Promise.all([
    createDatabase(isSample ? 'shop' : 'empty'),
    createDatabase('migrated'),
    createDatabase('empty'),
  ]);
  if (isSample) await seedReviews(serviceDatabase, sampleReviews());
  const service = await startReferenceService({ databaseUrl: serviceDatabase, ...options.service });
  opened.defer(() => service.close());
  const environment = {
    SHOP_DATABASE_URL: shopUrl,
    WAREHOUSE_DATABASE_URL: warehouseUrl,
    REVIEW_API_BASE_URL: service.url,
    REVIEW_API_CLIENT_ID: 'demo',
    REVIEW_API_CLIENT_SECRET: 'demo',
    LOG_LEVEL: 'warn',
    ...options.environment,
  };
  const all = opened.move();
  return {
    ...{ shopUrl, warehouseUrl, serviceUrl: service.url, serviceDatabaseUrl: serviceDatabase, service, environment },
    warehouse: (text, values) => query(warehouseUrl, text, values),
    atService: (text, values) => query(serviceDatabase, text, values),
    shop: (text, values) => query(shopUrl, text, values),
    async openApp() {
      const app = await openApp(readConfig(environment), { log: openLog('fatal') });
      all.defer(() => app.close());
      return app;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** The reviews of the shop that global-setup made a template of. */
export const sampleOptions = { seed: 7, orders: 60, reviews: 200 };
const sampleReviews = () => generateSampleShop({ ...sampleOptions, now: new Date() }).reviews;

/** Waits until the condition holds; a hang ends with the test's own time limit. */
export async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    await delay(50);
  }
}
