import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { EmbeddedDatabase } from '../../src/sandbox/embedded-postgres/index.ts';
import { startReferenceService } from '../../src/sandbox/reference-service/index.ts';
import { openShop } from '../../src/shop/index.ts';
import { forgetDatabase, queryAgain } from '../harness/database.ts';
import { aDayPasses, knowProducts, ordersAtService } from '../harness/service-view.ts';
import { outputOf, runProgram } from './processes.ts';
import type { Shop } from './shop.ts';

/** What the service has about an order. Empty values are left out. */
export type ServiceOrder = { code: string; total: number; created: string; lines: ServiceLine[] } & Partial<
  Record<'user' | 'name' | 'phone' | 'email' | 'grade', string>
>;
export type ServiceLine = {
  product: string;
  price: number;
  status: string;
  options?: Record<string, string>;
} & Partial<Record<'shipped' | 'delivered' | 'invoice' | 'carrier', string>>;

export type ReviewSync = Awaited<ReturnType<typeof openReviewSync>>;

const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

/** review-sync beside one shop: a working directory, a warehouse and the reference service. */
export async function openReviewSync(name: string, database: EmbeddedDatabase, shop: Shop) {
  await using opened = new AsyncDisposableStack();
  const cwd = await mkdtemp(join(tmpdir(), 'review-sync-shop-'));
  opened.defer(() => rm(cwd, { recursive: true, force: true }));
  const [warehouseUrl, serviceUrl] = [
    await database.createDatabase(`${name}_warehouse`),
    await database.createDatabase(`${name}_service`),
  ];
  const service = await startReferenceService({ databaseUrl: serviceUrl, checkAnswers: true });
  opened.defer(() => service.close());
  const databaseOf = (url: string) => {
    opened.defer(() => forgetDatabase(url));
    return <Row extends Record<string, unknown>>(text: string, values?: unknown[]) =>
      queryAgain<Row>(url, text, values);
  };
  const [warehouse, atService] = [databaseOf(warehouseUrl), databaseOf(serviceUrl)];
  const environment: Record<string, string> = {
    SHOP_DATABASE_URL: shop.databaseUrl,
    WAREHOUSE_DATABASE_URL: warehouseUrl,
    REVIEW_API_BASE_URL: service.url,
    REVIEW_API_CLIENT_ID: 'demo',
    REVIEW_API_CLIENT_SECRET: 'demo',
    // Each run sees only what its feed shows since the run before, and not what changed a moment earlier.
    ORDER_OVERLAP_MINUTES: '0',
    ORDER_DELETES: 'send',
    LOG_LEVEL: 'warn',
    ...(shop.timeZone && { SHOP_TIME_ZONE: shop.timeZone }),
  };
  const tryRun = (...args: string[]) => runProgram([main, ...args], { cwd, environment });
  const all = opened.move();
  return {
    /** Runs a command as a user does, whatever its status is. */
    tryRun,
    /** The same. @throws Error with its output where it does not end with status 0. */
    run: (...args: string[]) => outputOf([main, ...args], { cwd, environment }),
    /** The service knows these products, so that no line waits. */
    knowProducts: (codes: readonly string[]) => knowProducts(atService, warehouse, codes),
    /** What is remembered becomes a day older. */
    passDay: () => warehouse(aDayPasses),
    orders: () => ordersAtService<ServiceOrder>(atService),
    /** Requests that wrote something at the service until now. */
    writes: () =>
      Object.entries(service.requests())
        .filter(([route]) => !route.startsWith('GET') && !route.endsWith('/oauth/token'))
        .reduce((sum, [, count]) => sum + count, 0),
    /** The shop as review-sync reads it, once `init` has written its queries and .env. */
    async openShop() {
      const { SHOP_TIME_ZONE } = { ...parseEnv(await readFile(join(cwd, '.env'), 'utf8')), ...environment };
      const options = { sqlDir: join(cwd, 'shop-sql'), connections: 1, timeZone: SHOP_TIME_ZONE };
      return openShop({ url: shop.databaseUrl, ...options });
    },
    close: () => all.disposeAsync(),
  };
}
