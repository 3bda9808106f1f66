import type { LimitFunction } from 'p-limit';
import type { Logger } from '../base/log.ts';
import type { ReviewApi, Wait } from '../review-api/index.ts';
import type { Shop } from '../shop/index.ts';
import type { Db } from '../warehouse/index.ts';
import type { OrderStore } from '../warehouse/orders/order-store.ts';
import type { RequestLimits } from './limits.ts';

/** Dependencies of reading, comparing and pushing orders. PushRights says what a push may do. */
export type OrderDeps = {
  api: ReviewApi;
  shop: Shop;
  db: Db;
  store: OrderStore;
  log: Logger;
  signal: AbortSignal;
  /** This machine's clock. */
  now: () => Date;
  /** Slots for the orders that this process pushes or compares at the same time. */
  slots: LimitFunction;
  limits: RequestLimits;
  /** Throws if another shop, such as an empty copy, has taken the place of this one. */
  requireSameShop(): Promise<void>;
  /** Called when orders wait for another process. */
  onWait?: ((wait: Wait) => void) | undefined;
};
