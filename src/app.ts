import { Redis } from 'ioredis';
import type { Config } from './config.ts';
import { describeError, ReviewSyncError } from './errors.ts';
import { type Lanes, openLanes } from './lanes.ts';
import type { Logger } from './log.ts';
import { openQueues, type Queues } from './queue/index.ts';
import { type ExchangeFacts, openRateLimit, openReviewApi, type ReviewApi, type Wait } from './review-api/index.ts';
import { openShop, type Shop } from './shop/index.ts';
import { openWarehouse, type Warehouse } from './warehouse/index.ts';
import { pendingMigrations } from './warehouse/migrate.ts';

/** Everything a process works with, opened from one Config. */
export type App = {
  readonly config: Config;
  readonly log: Logger;
  readonly now: () => Date;
  readonly warehouse: Warehouse;
  readonly shop: Shop;
  readonly api: ReviewApi;
  readonly queues: Queues;
  /** What this process reads of reviews side by side. */
  readonly lanes: Lanes;
  /** Ends everything in flight; what was being worked on is handed back to the queue. */
  readonly abort: AbortController;
  close(): Promise<void>;
};

export type AppOptions = {
  log: Logger;
  now?: () => Date;
  onWait?: (wait: Wait) => void;
  onExchange?: (exchange: ExchangeFacts) => void;
};

/** Orders and windows that one process works on at a time. */
export const stepsAtATime = 4;

/**
 * Opens the warehouse, the queue, the shop and the service, in this order, and closes them in the opposite one.
 *
 * @throws ReviewSyncError when warehouse or queue do not answer, or the warehouse is not migrated.
 */
export async function openApp(config: Config, options: AppOptions): Promise<App> {
  const { log, now = () => new Date() } = options;
  await using opened = new AsyncDisposableStack();
  const abort = new AbortController();
  const connections = config.api.concurrency + stepsAtATime + 2;
  const warehouse = await openWarehouse({ url: config.warehouseDatabaseUrl, connections });
  opened.defer(() => warehouse.close());
  await requireMigrated(warehouse);
  const queues = await openQueues(config.queueUrl);
  opened.defer(() => queues.close());
  const shop = openShop({ url: config.shopDatabaseUrl, sqlDir: config.shopSqlDir, connections: stepsAtATime + 1 });
  opened.defer(() => shop.close());
  const api = openReviewApi({
    baseUrl: config.api.baseUrl,
    clientId: config.api.clientId,
    clientSecret: config.api.clientSecret,
    concurrency: config.api.concurrency,
    acquire: openCeiling(config, warehouse, log, opened),
    log,
    onWait: options.onWait,
    onExchange: options.onExchange,
    signal: abort.signal,
  });
  opened.defer(() => api.close());
  const all = opened.move();
  // Two more than requests in flight: while one parses its page, another asks for the next.
  const lanes = openLanes(config.api.concurrency + 2);
  return { config, log, now, warehouse, shop, api, queues, lanes, abort, close: () => all.disposeAsync() };
}

async function requireMigrated(warehouse: Warehouse): Promise<void> {
  const pending = await pendingMigrations(warehouse.db).catch((cause) => {
    throw new ReviewSyncError('warehouse', `The warehouse cannot be reached: ${describeError(cause)}`, {
      cause,
      hint: 'See whether it is up and whether WAREHOUSE_DATABASE_URL is right; npx review-sync doctor tells more.',
    });
  });
  if (pending.length === 0) return;
  throw new ReviewSyncError('not-migrated', `The warehouse lacks ${pending.length} migrations: ${pending.join(', ')}`, {
    hint: 'Run: npx review-sync migrate',
  });
}

/** The requests per second that all workers everywhere share, counted on the server that they share. */
function openCeiling(config: Config, warehouse: Warehouse, log: Logger, opened: AsyncDisposableStack) {
  const { requestsPerSecond } = config.api;
  if (requestsPerSecond === undefined) return undefined;
  const onStoreTrouble = (error: unknown) =>
    log.warn({ error: describeError(error) }, 'the shared request ceiling cannot be counted; keeping it alone for now');
  if (!/^rediss?:/.test(config.queueUrl)) {
    const store = { postgres: warehouse.pool, schema: 'sync', table: 'rate_limit' };
    return openRateLimit({ requestsPerSecond, store, onStoreTrouble });
  }
  const redis = new Redis(config.queueUrl, { maxRetriesPerRequest: 1 });
  redis.on('error', () => {});
  opened.defer(() => redis.disconnect());
  return openRateLimit({ requestsPerSecond, store: { redis }, onStoreTrouble });
}
