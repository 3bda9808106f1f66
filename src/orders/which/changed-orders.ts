import { ReviewSyncError } from '../../base/errors.ts';
import type { Shop } from '../../shop/index.ts';
import type { OrderKey, OrderPage, OrderPosition } from '../../shop/orders.ts';
import { warehouseNow } from '../../warehouse/clock.ts';
import type { Db } from '../../warehouse/index.ts';
import { heldOrders } from '../../warehouse/orders/order-removals.ts';
import { ordersToRevisit } from '../../warehouse/orders/order-revisits.ts';
import {
  advanceOrderWalk,
  beginOrderWalk,
  endOrderWalk,
  type OrderWalk,
  readOrderWalk,
} from '../../warehouse/orders/order-walks.ts';
import { advanceCursor, readCursor } from '../../warehouse/runs/cursors.ts';
import type { PushPolicy } from '../order/desired-order.ts';
import type { OrderStep } from '../push/push-slice.ts';
import { keepKeylessOrders } from './keyless-orders.ts';
import { planRemovals, stepsOf } from './plan-steps.ts';
import { instantOf, whereToStart } from './where-to-start.ts';

export type SyncDeps = { shop: Shop; db: Db };

export type SyncOptions = {
  /** The run in sync.runs. */
  runId?: string | undefined;
  /** How far before its cursor the run reads again: a transaction that commits late carries an older date than the cursor. */
  lookbackMinutes: number;
  removals?: PushPolicy['removals'];
  /** Orders that the run plans and keeps in the queue at a time. 50,000 codes are 1 MB. */
  batchSize: number;
};

/**
 * How far an incremental run has come: what the batch that is being pushed ends with. Kept with the run's job in the queue,
 * so plain JSON.
 */
export type SyncState = {
  /** The shop's clock when the run was planned: no cursor moves beyond it. */
  shopNow: string;
  /** The warehouse's clock then: what changed before was seen by the run, though nothing may have. */
  readTo: string;
  /** The first push of a shop with a feed: a walk over all orders by code. As it stands after the batch. */
  walk?: OrderWalk;
  /** Where the next batch starts; absent: the batch is the last one of its kind. */
  next?: OrderPosition;
  /** Where the cursor goes when the batch has ended. */
  upTo?: OrderKey;
  /** The newest change of the run so far, where the walk goes by code: the cursor goes there at the end of the run. */
  newest?: OrderKey;
  /** Batches before this one. */
  batches: number;
  /** Orders that the run has read, this batch included. */
  read: number;
  /** The batch is one of orders whose removals were held back and are allowed now. It ends with this code. */
  heldUpTo?: string;
  /** This is the last batch: it removes what the batches before took note of. */
  isRemoving?: true;
  /** Batches in a row that began beyond the shop's clock as it was when the run was planned. */
  ahead?: number;
  /** A step of the run failed: the cursor stays where it is, and the next run reads from there again. */
  isHeld: boolean;
};

export type SyncBatch = { steps: OrderStep[]; state: SyncState };

/**
 * The first batch of an incremental run. A run from the beginning also names the orders that no run reads, see keepKeylessOrders.
 * What a run reads, in this order:
 *
 * 1. Without a cursor, in a shop with a change feed: all orders, by code. A walk that was interrupted goes on where it stopped.
 * 2. Everything that changed since the cursor minus the lookback; without a cursor, from the beginning.
 * 3. With the first batch: orders to read again for other reasons, such as dead letters.
 * 4. With `--allow-removals`: all orders whose removals were held back. The first batch has only 2,000 of them.
 * 5. At the end: orders of which something is to be removed at the service, see planRemovals.
 */
export async function planSyncOrders(deps: SyncDeps, options: SyncOptions): Promise<SyncBatch> {
  const now = await warehouseNow(deps.db);
  const readTo = now.toISOString();
  const shopNow = await deps.shop.now();
  const cursor = await readCursor(deps.db, 'orders');
  const start = whereToStart(cursor, { shopNow, now }, options.lookbackMinutes);
  if (start.at === '-infinity') await keepKeyless(deps);
  const walk = await walkToGoOn(deps, start, shopNow);
  // An interrupted walk has had batches before.
  const before: SyncState = { shopNow, readTo, batches: walk && walk.orders > 0 ? 0 : -1, read: 0, isHeld: false };
  const batch =
    walk === undefined
      ? await planChanges(deps, before, start, options)
      : await planWalk(deps, { ...before, walk }, options);
  // No order is in two steps: they run side by side, and each would wait for the other's lease and count the order.
  const isRead = new Set(batch.steps.flatMap((step) => step.codes));
  const codes = (await ordersToRevisit(deps.db)).filter((code) => !isRead.has(code));
  const state = { ...batch.state, read: batch.state.read + codes.length };
  return { state, steps: [...batch.steps, ...stepsOf(codes, options, readTo)] };
}

/** A query that cannot be computed for all rows at once is left to the daily check, which says so. */
async function keepKeyless(deps: SyncDeps): Promise<void> {
  try {
    await keepKeylessOrders(deps);
  } catch (error) {
    if (!(error instanceof ReviewSyncError && error.code === 'shop-query')) throw error;
  }
}

/**
 * Saves how far a batch has come, now that all its steps have ended, and plans the next batch. May be called again with the
 * same state after a crash: what it saves only moves forward.
 *
 * @param batch.failed whether some step failed: then the cursor stays, and the run goes on with the other orders.
 * @param batch.isLost whether no step succeeded: then a system is down, and the run ends.
 * @returns undefined where nothing remains to be read.
 */
export async function continueSyncOrders(
  deps: SyncDeps,
  state: SyncState,
  batch: { failed: boolean; isLost: boolean },
  options: SyncOptions,
): Promise<SyncBatch | undefined> {
  const now: SyncState = { ...state, isHeld: state.isHeld || batch.failed };
  if (batch.isLost || state.isRemoving) return undefined;
  if (!now.isHeld) await save(deps.db, now);
  const isReading = now.heldUpTo === undefined;
  const next = (isReading && (await planNext(deps, now, options))) || (await planHeld(deps, now, options));
  if (next !== undefined) return next;
  const steps = await planRemovals(deps.db, { ...options, read: now.read });
  return steps.length === 0 ? undefined : { steps, state: { ...now, isRemoving: true } };
}

/** The next orders whose removals were held back; undefined where there are none, or they are not allowed. */
async function planHeld({ db }: SyncDeps, now: SyncState, options: SyncOptions): Promise<SyncBatch | undefined> {
  if (options.removals !== 'all') return undefined;
  const codes = await heldOrders(db, now.heldUpTo ?? '', options.batchSize);
  const heldUpTo = codes.at(-1);
  if (heldUpTo === undefined) return undefined;
  // What the cursor goes to was saved before.
  const state = { ...withoutPlace(now), read: now.read + codes.length, heldUpTo };
  return { state, steps: stepsOf(codes, options, now.readTo) };
}

/** The next batch of orders to read. */
async function planNext(deps: SyncDeps, now: SyncState, options: SyncOptions): Promise<SyncBatch | undefined> {
  if (now.walk === undefined) return now.next && planChanges(deps, now, now.next, options);
  if (now.next !== undefined) return planWalk(deps, now, options);
  // A walk of one batch saw one moment. During a longer one orders changed behind it.
  if (now.batches === 0 || now.isHeld) return undefined;
  const { walk, ...rest } = now;
  const clocks = { shopNow: now.shopNow, now: new Date(now.readTo) };
  return planChanges(deps, rest, whereToStart({ at: walk.beganAt }, clocks, options.lookbackMinutes), options);
}

/** Moves the cursor to the end of the run's last batch; only after every step of the run was pushed or kept as dead letters. */
export async function concludeSyncOrders(db: Db, state: SyncState): Promise<void> {
  await save(db, state);
  const cursor = await readCursor(db, 'orders');
  if (cursor) await advanceCursor(db, 'orders', { ...cursor, readTo: state.readTo });
}

async function save(db: Db, { walk, upTo, next }: SyncState): Promise<void> {
  if (upTo) await advanceCursor(db, 'orders', upTo);
  if (!walk) return;
  if (next) return advanceOrderWalk(db, walk);
  await advanceCursor(db, 'orders', { at: walk.beganAt, code: '' });
  await endOrderWalk(db, walk.beganAt);
}

/** Where everything is to be read, in a shop with a feed: by code, from the start or where a walk was interrupted. */
async function walkToGoOn({ shop, db }: SyncDeps, start: OrderPosition, shopNow: string) {
  const walk = await readOrderWalk(db);
  if (walk !== undefined || start.at !== '-infinity' || !(await shop.hasFeed())) return walk;
  return beginOrderWalk(db, shopNow);
}

async function planWalk({ shop }: SyncDeps, state: SyncState, options: SyncOptions): Promise<SyncBatch> {
  const { walk = { beganAt: state.shopNow, afterCode: '', orders: 0 } } = state;
  const after = state.next ?? { at: '-infinity', code: walk.afterCode };
  const page = await shop.orderCodes({ axis: 'code', after, size: options.batchSize });
  const afterCode = page.next?.code ?? walk.afterCode;
  return batchOf(page, options, {
    ...withoutPlace(state),
    walk: { ...walk, afterCode, orders: walk.orders + page.keys.length },
  });
}

async function planChanges(
  { shop }: SyncDeps,
  state: SyncState,
  after: OrderPosition,
  options: SyncOptions,
): Promise<SyncBatch> {
  const ahead = instantOf(after.at) > instantOf(state.shopNow) ? (state.ahead ?? 0) + 1 : 0;
  if (ahead > aheadAtMost) throw movingDates();
  const page = await shop.changedSince(after, options.batchSize);
  const end = page.next ?? page.keys.at(-1);
  if (page.isByDate) {
    const upTo = end && notAfter({ at: end.at, code: end.code }, state.shopNow);
    return batchOf(page, options, { ...withoutPlace(state), ahead, ...(upTo && { upTo }) });
  }
  const newest = newestOf([...(state.newest ? [state.newest] : []), ...page.keys]);
  const upTo = page.next === undefined && newest ? { upTo: notAfter(newest, state.shopNow) } : {};
  return batchOf(page, options, { ...withoutPlace(state), ...(newest && { newest }), ...upTo });
}

/** Full batches of orders dated in the shop's future that a run reads. Stored dates make no more; `now()` never ends. */
const aheadAtMost = 2;

const movingDates = () =>
  new ReviewSyncError(
    'shop-query',
    'The dates of changed orders move ahead while they are read, so that the run would never end',
    {
      hint: 'changed_at in changed_orders.sql, or updated_at in orders.sql, must be the stored date of the change, not now() or a date computed from it.',
    },
  );

/** What goes on from one batch to the next. */
function withoutPlace({ next, upTo, ...state }: SyncState): SyncState {
  return { ...state, batches: state.batches + 1 };
}

function batchOf({ keys, next }: OrderPage, options: SyncOptions, state: SyncState): SyncBatch {
  const codes = keys.map(({ code }) => code);
  const read = state.read + codes.length;
  return { steps: stepsOf(codes, options), state: { ...state, read, ...(next && { next }) } };
}

const notAfter = (key: OrderKey, latest: string): OrderKey =>
  instantOf(key.at) > instantOf(latest) ? { at: latest, code: '' } : key;

/** Of those that have a date. */
function newestOf(keys: readonly OrderKey[]): OrderKey | undefined {
  const dated = keys.filter(({ at }) => !Number.isNaN(Date.parse(at)));
  return dated.reduce<OrderKey | undefined>((newest, key) => (newest && newest.at >= key.at ? newest : key), undefined);
}
