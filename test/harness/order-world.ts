import type { Counts } from '../../src/base/counts.ts';
import type { PushRecord } from '../../src/warehouse/orders/order-store.ts';
import { createOrderShop, orderShopQueries } from './order-shop.ts';
import { type Rule, startRuleProxy } from './proxy.ts';
import { insertOf, type ShopOrder } from './shop-orders.ts';
import { type SyncRun, syncOrdersOnce } from './sync-orders.ts';
import { openWorld, type World, type WorldOptions } from './world.ts';

export type OrderWorld = World & {
  /** From now on the service treats requests as the rule says. */
  serviceRule(rule: Rule): void;
  requests(): readonly { method: string; path: string; form: URLSearchParams }[];
  /** Inserts orders of the shop with their lines, see shop-orders.ts. */
  place(...orders: readonly ShopOrder[]): Promise<void>;
  /** One incremental run in this process, without the queue. */
  sync(run?: SyncRun): Promise<Counts>;
  /**
   * Moves what is remembered of the orders, the next attempts of failed ones, the ends of leases and the last readings
   * of dead letters into the past. @param interval of Postgres.
   */
  timePasses(interval: string): Promise<void>;
  /** The orders count as pushed with the dates of creation that the shop shows now, as where time has passed. */
  rememberDates(): Promise<void>;
  openDeadLetters(): Promise<{ kind: string; key: string; reason: string }[]>;
};

/** A shop of two plain tables (`o`, `l`), the reference service behind a proxy with rules, and a warehouse. */
export async function openOrderWorld(options: WorldOptions = {}): Promise<OrderWorld> {
  // Each day that a rescan reads costs ten statements, and the orders of most tests are an hour old. There are no
  // reviews, so a run of them reads all days since this year began.
  const days = { ORDER_RESCAN_DAYS: '2', REVIEW_YEARS_FROM: String(new Date().getFullYear()) };
  const environment = { SHOP_SQL_DIR: await orderShopQueries(), ...days, ...options.environment };
  const world = await openWorld({ ...options, shop: 'empty', environment });
  await createOrderShop(world.shopUrl);
  const proxy = await world.through(startRuleProxy);
  let app: ReturnType<World['openApp']> | undefined;
  return {
    ...world,
    async place(...orders) {
      if (orders.length > 0) await world.shop(...insertOf(orders));
    },
    serviceRule: (rule) => proxy.use(rule),
    requests: () => proxy.requests,
    async sync(run) {
      app ??= world.openApp();
      return syncOrdersOnce(await app, run);
    },
    async timePasses(interval) {
      await world.warehouse(
        `update sync.order_links set due_at = due_at - $1::interval, absent_since = absent_since - $1::interval, lease_expires_at = lease_expires_at - $1::interval,
          pushed_at = pushed_at - $1::interval`,
        [interval],
      );
      await world.warehouse('update sync.sub_order_links set linked_at = linked_at - $1::interval', [interval]);
    },
    async rememberDates() {
      const dates = JSON.stringify(await world.shop('select code, created_at as at from o'));
      await world.warehouse(
        `update sync.order_links set ordered_at = at from jsonb_to_recordset($1) as o (code text, at timestamptz)
         where order_code = code`,
        [dates],
      );
    },
    openDeadLetters: () =>
      world.warehouse(
        'select kind, key, reason from sync.dead_letters where resolved_at is null order by kind, key collate "C"',
      ),
  };
}

/** The record of a push that changed nothing. */
export const emptyPush: PushRecord = {
  orderId: 1,
  fingerprint: 'f',
  sentFields: [],
  failedPushes: 0,
  isAnswered: true,
  dueAfterMs: null,
  userGradeCode: undefined,
  userGradeId: undefined,
  orderedAt: null,
  lines: [],
  waiting: [],
  deadLetters: [],
};
