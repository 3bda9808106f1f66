import { addCounts, type Counts } from '../../src/base/counts.ts';
import type { ContactPolicy } from '../../src/orders/contact-rule.ts';
import { pushStep, type SliceDeps } from '../../src/orders/push-slice.ts';
import { concludeSyncOrders, continueSyncOrders, planSyncOrders } from '../../src/orders/sync-orders.ts';
import { createOrderShop, orderShopQueries } from './order-shop.ts';
import { type Rule, startRuleProxy } from './rule-proxy.ts';
import { openWorld, type World, type WorldOptions } from './world.ts';

export type OrderWorld = World & {
  /** From now on the service treats requests as the rule says. */
  serviceRule(rule: Rule): void;
  requests(): readonly { method: string; path: string; form: URLSearchParams }[];
  /** One incremental run in this process, without the queue. */
  sync(options?: Partial<SliceDeps> & { removals?: 'usual' | 'all'; contact?: ContactPolicy }): Promise<Counts>;
  /** Brings the next attempts of failed orders, and the ends of leases, nearer by so much. @param interval of Postgres. */
  timePasses(interval: string): Promise<void>;
  openDeadLetters(): Promise<{ kind: string; key: string; reason: string }[]>;
};

/** A shop of two plain tables (`o`, `l`), the reference service behind a proxy with rules, and a warehouse. */
export async function openOrderWorld(options: WorldOptions = {}): Promise<OrderWorld> {
  const environment = { SHOP_SQL_DIR: await orderShopQueries(), ...options.environment };
  const world = await openWorld({ ...options, shop: 'empty', environment });
  await createOrderShop(world.shopUrl);
  const proxy = await startRuleProxy(world.serviceUrl);
  world.environment.REVIEW_API_BASE_URL = proxy.url;
  let app: ReturnType<World['openApp']> | undefined;
  return {
    ...world,
    serviceRule: (rule) => proxy.use(rule),
    requests: () => proxy.requests,
    async sync({ removals = 'usual', contact, ...more } = {}) {
      app ??= world.openApp();
      const { api, shop, warehouse, orderStore, log, now, config } = await app;
      const deps: SliceDeps = {
        ...{ api, shop, log, now, db: warehouse.db, store: orderStore, signal: new AbortController().signal },
        ...{ contactMaxAgeDays: config.orderContactMaxAgeDays, deletes: config.orderDeletes, settleMs: 1 },
        patience: { firstMs: 50, secondMs: 20, pauseMs: 1, totalMs: 500, totalOfKnownMs: 50 },
        ...more,
      };
      const db = { shop, db: warehouse.db };
      const plan = { lookbackMinutes: 100_000, batchSize: 50_000, removals };
      const counts: Counts[] = [];
      const readTo = new Date();
      let batch = await planSyncOrders(db, plan);
      for (;;) {
        for (const step of batch.steps)
          counts.push(await pushStep(deps, { ...step, contact: contact ?? step.contact }));
        const next = await continueSyncOrders(db, batch.state, { failed: false, isLost: false }, plan);
        if (next === undefined) break;
        batch = next;
      }
      await concludeSyncOrders(warehouse.db, batch.state, readTo);
      return addCounts(counts);
    },
    async timePasses(interval) {
      await world.warehouse(
        `update sync.order_links set retry_at = retry_at - $1::interval, lease_expires_at = lease_expires_at - $1::interval`,
        [interval],
      );
    },
    openDeadLetters: () =>
      world.warehouse(
        'select kind, key, reason from sync.dead_letters where resolved_at is null order by kind, key collate "C"',
      ),
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await proxy.close();
    },
  };
}
