import pLimit from 'p-limit';
import type { App } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { openLog } from '../../src/base/log.ts';
import { openOutage } from '../../src/base/outage.ts';
import type { Queues } from '../../src/queue/index.ts';
import { openReviewApi } from '../../src/review-api/index.ts';
import { openLists } from '../../src/reviews/review-deps.ts';
import type { Shop } from '../../src/shop/index.ts';
import { openFieldShapes } from '../../src/warehouse/field-shapes.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { openOrderStore } from '../../src/warehouse/orders/order-store.ts';
import { type Process, within } from './scheduler.ts';

/** What the environment of a process says. */
export type Settings = Readonly<{
  contactMaxAgeDays: number;
  deletes: 'off' | 'send';
  batchSize: number;
  rescanDays: number;
  overlapMinutes: number;
}>;

export type Opened = {
  process: Process;
  app: App;
  settings: Settings;
  /** A command carries out its own run and no other; undefined: a worker. */
  onlyRun: string | undefined;
};

const silent = openLog('silent');

export const originOf = (brand: string | undefined) => `https://${brand === undefined ? '' : `${brand}.`}service.test`;

/**
 * A process with an App of its own, as `openApp` makes it. Only what is outside of it is replaced: the shop is in
 * memory, and there is no queue of BullMQ. The warehouse, the client and everything above them are the real ones.
 */
export async function openProcess(
  process: Process,
  from: { settings: Settings; shop: Shop; queues: Queues; warehouseUrl: string; brand: string | undefined },
): Promise<Opened> {
  const { settings, shop, queues, warehouseUrl, brand } = from;
  return within(process, async () => {
    const environment = {
      SHOP_DATABASE_URL: 'postgres://shop.test/shop',
      WAREHOUSE_DATABASE_URL: warehouseUrl,
      REVIEW_API_BASE_URL: originOf(brand),
      REVIEW_API_CLIENT_ID: 'simulated',
      REVIEW_API_CLIENT_SECRET: 'simulated',
      REVIEW_YEARS_FROM: '2025',
      LOG_LEVEL: 'silent',
      ORDER_CONTACT_MAX_AGE_DAYS: String(settings.contactMaxAgeDays),
      ORDER_DELETES: settings.deletes,
      ORDER_BATCH_SIZE: String(settings.batchSize),
      ORDER_LEASE_SECONDS: '20',
      ORDER_RESCAN_DAYS: String(settings.rescanDays),
      ORDER_OVERLAP_MINUTES: String(settings.overlapMinutes),
    };
    const config = readConfig(environment, brand);
    const abort = new AbortController();
    const { baseUrl, clientId, clientSecret, concurrency } = config.api;
    const warehouse = await openWarehouse({ url: warehouseUrl, connections: 18, brand });
    const fieldShapes = openFieldShapes(warehouse, 60_000);
    // A lease must outlast a request. Waiting for a lease that a frozen process has costs two statements a second.
    const api = openReviewApi({
      baseUrl,
      clientId,
      clientSecret,
      concurrency,
      timeoutMs: 5000,
      log: silent,
      onRecords: (kind, records) => fieldShapes.see(kind, records),
      signal: abort.signal,
    });
    const orderStore = openOrderStore(warehouse, { leaseMs: config.orderLeaseSeconds * 1000 });
    const app: App = {
      config,
      log: silent,
      now: () => new Date(),
      onWait() {},
      currentWait: () => undefined,
      warehouse,
      warehouseOutage: openOutage(silent, 'warehouse'),
      fieldShapes,
      shop,
      api,
      queues,
      orderStore,
      lists: openLists(pLimit(concurrency + 4)),
      sliceSlots: pLimit(2),
      orderSlots: pLimit(384),
      abort,
      [Symbol.asyncDispose]: async () => {},
    };
    return { process, app, settings, onlyRun: undefined };
  });
}
