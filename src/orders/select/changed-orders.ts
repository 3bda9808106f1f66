import { isoOf } from '../../base/time/span.ts';
import type { OrderPosition } from '../../shop/orders.ts';
import { warehouseNow } from '../../warehouse/index.ts';
import { dueOrders } from '../../warehouse/orders/due-orders.ts';
import { advanceCursor, readCursor } from '../../warehouse/runs/cursors.ts';
import { slicesOf } from '../limits.ts';
import type { OrderDeps } from '../order-deps.ts';
import { readSlice } from '../plan/read-orders.ts';
import type { Batch } from './orders-by-day.ts';

type ChangedDeps = Pick<OrderDeps, 'shop' | 'db'>;

export type ChangedOptions = {
  /** How far before its cursor the run reads again: a transaction that commits late carries an older date than the cursor. */
  lookbackMinutes: number;
  /** Orders that the run plans and queues at a time. 50,000 codes are 1 MB. */
  batchSize: number;
  /** Also orders whose retry is not due yet: `--allow-removals` must reach removals that were held back. */
  isAnyTime: boolean;
};

/** The progress of an incremental run, up to the batch being pushed. Kept with its job in the queue, so plain JSON. */
export type ChangedState = {
  /** The clocks of the shop and of the warehouse when the run was planned. */
  shopNow: string;
  startedAt: string;
  /** The first run in a shop with a change feed: it reads all orders by code. */
  isByCode: boolean;
  /** The start of the next page of changes. Absent: all changes are read, and due orders follow. */
  next?: OrderPosition | undefined;
  /** The remaining changes are dated ahead of the shop's clock and read by code: their dates may move with it. */
  isAhead?: boolean;
  /** The newest change that this run or an earlier one read, as the shop writes it. */
  newest?: string | undefined;
  /** The code of the last due order that was read. */
  due?: string;
};

/**
 * The first batch of an incremental run. What a run reads, in this order:
 *
 * 1. Everything that changed since the cursor minus the lookback, by date of change; changes dated ahead of the shop's
 *    clock by code. Without a cursor: all changes from the beginning, or, in a shop with a change feed, all orders.
 * 2. Orders that are due although the shop did not change them (due-orders.ts), until none is left.
 */
export async function planChangedOrders(deps: ChangedDeps, options: ChangedOptions): Promise<Batch<ChangedState>> {
  const { shop, db } = deps;
  const startedAt = (await warehouseNow(db)).toISOString();
  const shopNow = await shop.now();
  const cursor = await readCursor(db, 'orders');
  // If the cursor is ahead of the shop's clock, the clock was set back. Start from the clock.
  const at = cursor && Math.min(Date.parse(cursor.at), Date.parse(shopNow)) - options.lookbackMinutes * 60_000;
  const next = { at: at === undefined ? '-infinity' : new Date(at).toISOString(), code: '' };
  const isByCode = cursor === undefined && (await shop.hasFeed());
  return readChanges(deps, { shopNow, startedAt, isByCode, newest: cursor?.at }, next, options);
}

/** The orders that an incremental run would read now, as a push reads them, each once. Writes nothing. */
export async function* changedOrders(deps: ChangedDeps, options: ChangedOptions) {
  const shown = new Set<string>();
  let batch: Batch<ChangedState> | undefined = await planChangedOrders(deps, options);
  for (; batch !== undefined; batch = await nextChangedOrders(deps, batch.state, options)) {
    for (const codes of slicesOf(batch.codes.filter((code) => !shown.has(code)))) {
      const { raws } = await readSlice(deps, codes);
      yield raws.filter(({ order: { code } }) => code && !shown.has(code) && shown.add(code));
    }
  }
}

/** @returns the next batch that has orders; undefined if nothing remains to be read. */
export async function nextChangedOrders(
  deps: ChangedDeps,
  state: ChangedState,
  options: ChangedOptions,
): Promise<Batch<ChangedState> | undefined> {
  let at = state;
  while (at.next) {
    const batch = await readChanges(deps, at, at.next, options);
    if (batch.codes.length > 0) return batch;
    at = batch.state;
  }
  const { batchSize: limit, isAnyTime } = options;
  const codes = await dueOrders(deps.db, { before: at.startedAt, isAnyTime, after: at.due ?? '', limit });
  return codes.length === 0 ? undefined : { codes, state: { ...at, due: codes.at(-1) ?? '' } };
}

/**
 * Moves the cursor to the newest change that was read, and records when the run looked. Call it after every step of the
 * run has ended. The cursor never passes the shop's clock in whole seconds: many shops date rows by the second, and a
 * later change may carry the same second. An empty shop leaves no cursor: it may be a copy without orders.
 */
export async function concludeChangedOrders({ db }: ChangedDeps, state: ChangedState): Promise<void> {
  const { shopNow, startedAt: readTo, isByCode, newest } = state;
  // The next run reads what changed while all orders were read.
  if (newest === undefined) return;
  const isAhead = isByCode || Date.parse(newest) > Date.parse(shopNow);
  const at = isAhead ? isoOf(Math.floor(Date.parse(shopNow) / 1000)) : newest;
  await advanceCursor(db, 'orders', { at, readTo });
}

async function readChanges({ shop }: ChangedDeps, state: ChangedState, after: OrderPosition, options: ChangedOptions) {
  const { isByCode, isAhead, shopNow } = state;
  const axis = isByCode ? 'code' : 'updated';
  const { batchSize: size } = options;
  const { keys, next } = await shop.orderCodes({ axis, after, size, inCodeOrder: isAhead === true });
  const newest = keys.at(-1)?.at ?? state.newest;
  const isNextAhead = !isByCode && next && (isAhead || Date.parse(next.at) > Date.parse(shopNow));
  const byCode = isAhead ? { at: after.at, code: next?.code ?? '' } : { at: shopNow, code: '' };
  const where = isNextAhead ? { next: byCode, isAhead: true } : { next };
  return { codes: keys.map(({ code }) => code), state: { ...state, newest, ...where } };
}
