import pLimit from 'p-limit';
import { counted } from '../base/counts.ts';
import { describeError, ReviewSyncError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { openOutage } from '../base/outage.ts';
import { ordersAtATime, slicesAtATime } from '../orders/limits.ts';
import { takersOfBrands } from '../queue/connection.ts';
import { openQueueServer, openQueues } from '../queue/index.ts';
import { openRateLimit, openReviewApi, type RequestFacts, ReviewApiError, type Wait } from '../review-api/index.ts';
import { windowsAtATime } from '../reviews/limits.ts';
import { openLists } from '../reviews/review-deps.ts';
import { openShop } from '../shop/index.ts';
import { queueNames } from '../warehouse/connected-service.ts';
import { openFieldShapes } from '../warehouse/field-shapes.ts';
import { isLockedOut, openPool, openWarehouse, type Warehouse } from '../warehouse/index.ts';
import { compareMigrations } from '../warehouse/migrate.ts';
import { openOrderStore } from '../warehouse/orders/order-store.ts';
import { type Config, type Deployment, shortLockSeconds } from './config.ts';
import { requireSameService, sharedSession } from './require-same-service.ts';

/** The shop, the service and the warehouse, opened from one Config. */
export type Systems = Awaited<ReturnType<typeof openSystems>>;

export type App = Awaited<ReturnType<typeof openApp>>;

export type AppOptions = {
  log: Logger;
  onWait?: ((wait: Wait) => void) | undefined;
  onRequestEnd?: (request: RequestFacts) => void;
  /** Connections of a process that serves several brands; they stay open. */
  shared?: SharedConnections | undefined;
  /** Queues to take jobs from at a time. Default: the number of a worker. */
  takers?: number;
};

export type SharedConnections = Awaited<ReturnType<typeof openShared>>;

/** Connections to the warehouse of all brands of a process. One brand holds at most half of them. */
const connectionsOfBrands = 36;
/** Additional connections for the status of all brands. */
const connectionsOfLooks = 4;

/** @throws ReviewSyncError if the queue does not respond. */
export async function openShared({ warehouseDatabaseUrl: url, queueUrl }: Deployment) {
  await using opened = new AsyncDisposableStack();
  const warehouse = opened.use(openPool({ url, connections: connectionsOfBrands }));
  // These connections serve the status, which does not wait long for locks of other sessions.
  const looks = opened.use(openPool({ url, connections: connectionsOfLooks, lockSeconds: shortLockSeconds }));
  const queue = opened.use(await openQueueServer(queueUrl, takersOfBrands));
  const all = opened.move();
  return { warehouse, looks, queue, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Steps of any kind that one process works on at a time. */
export const stepsAtATime = windowsAtATime;

/** Opens the queues of a warehouse. @throws ReviewSyncError if the queue does not respond, or lacks its tables. */
export const queuesOf = async ({ db }: Warehouse, { queueUrl, api, brand }: Config, options?: AppOptions) =>
  openQueues(queueUrl, await queueNames(db, api, brand), options?.shared?.queue, options?.takers);

/** Opens the systems and the queue. Disposal closes them in reverse order. @throws as `openSystems` and `queuesOf`. */
export async function openApp(config: Config, options: AppOptions) {
  await using opened = new AsyncDisposableStack();
  const systems = opened.use(await openSystems(config, options));
  const queues = opened.use(await queuesOf(systems.warehouse, config, options));
  const all = opened.move();
  return { ...systems, queues, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** @throws ReviewSyncError when the warehouse does not respond, is not migrated, or belongs to another service. */
export async function openSystems(config: Config, options: AppOptions) {
  const { log } = options;
  await using opened = new AsyncDisposableStack();
  const abort = new AbortController();
  /** The wait that ends last. */
  let last: Wait | undefined;
  const onWait = (wait: Wait) => {
    if (wait.untilMs > (last?.untilMs ?? 0)) last = wait;
    options.onWait?.(wait);
  };
  const { warehouseDatabaseUrl: url, brand, lockSeconds, api: service } = config;
  const shared = options.shared?.warehouse;
  const wanted = service.concurrency + stepsAtATime + 2;
  const connections = shared ? Math.min(wanted, connectionsOfBrands / 2) : wanted;
  const warehouse = opened.use(await openWarehouse({ url, brand, connections, lockSeconds, shared }));
  await requireMigrated(warehouse);
  const fieldShapes = openFieldShapes(warehouse);
  opened.defer(() => fieldShapes.close());
  // Ignore a service that does not respond: pushes and readings ask it again.
  await requireSameService(warehouse.db, service).catch((error: unknown) => {
    if (!(error instanceof ReviewApiError)) throw error;
  });
  const shop = opened.use(openShop({ ...config.shop, connections: slicesAtATime + 1, signal: abort.signal }));
  const api = opened.use(
    openReviewApi({
      ...service,
      session: sharedSession(warehouse.db, service),
      acquire: openCeiling(config, warehouse, log),
      log,
      onWait,
      onRequestEnd: options.onRequestEnd,
      onRecords: (kind, records) => fieldShapes.see(kind, records),
      signal: abort.signal,
    }),
  );
  // Pages in progress: `concurrency` pages are being requested, and as many land.
  const lists = openLists(pLimit(2 * service.concurrency));
  const all = opened.move();
  return {
    config,
    log,
    now: () => new Date(),
    onWait,
    /** The wait of this process; undefined if it does not wait. */
    currentWait: () => (last && last.untilMs > Date.now() ? last : undefined),
    warehouse,
    /** Shared by all loops of this process that use the warehouse. */
    warehouseOutage: openOutage(log, 'warehouse'),
    fieldShapes,
    shop,
    api,
    /** State of pushing orders. One per process, so that its statements batch many orders. */
    orderStore: openOrderStore(warehouse, { leaseMs: config.orderLeaseSeconds * 1000 }),
    lists,
    /** Slots for the slices of orders that this process reads or compares at the same time. */
    sliceSlots: pLimit(slicesAtATime),
    /** Slots for the orders that this process pushes at the same time. */
    orderSlots: pLimit(ordersAtATime),
    /** Ends all work in flight; unfinished jobs return to the queue. */
    abort,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** The ceiling of requests per second, counted in the warehouse for all workers. */
function openCeiling({ api: { requestsPerSecond } }: Config, { pool }: Warehouse, log: Logger) {
  if (requestsPerSecond === undefined) return undefined;
  const what = 'the shared request ceiling cannot be counted; this process keeps it alone until then';
  return openRateLimit({
    requestsPerSecond,
    store: { postgres: pool, schema: 'sync', table: 'rate_limit' },
    onStoreError: (error) => log.warn({ error: describeError(error) }, what),
  });
}

/** @throws ReviewSyncError when the warehouse does not respond or is not migrated. */
export async function requireMigrated({ db }: Warehouse): Promise<void> {
  const { pending } = await compareMigrations(db).catch((cause) => {
    if (cause instanceof ReviewSyncError || isLockedOut(cause)) throw cause;
    throw new ReviewSyncError('warehouse', `The warehouse cannot be reached: ${describeError(cause)}`, {
      cause,
      hint: 'Check that it is up and that WAREHOUSE_DATABASE_URL is right; review-sync doctor says more.',
    });
  });
  if (pending.length === 0) return;
  const what = `The warehouse lacks ${counted(pending.length, 'migration')}: ${pending.join(', ')}`;
  throw new ReviewSyncError('not-migrated', what, { hint: 'Run: review-sync migrate' });
}
