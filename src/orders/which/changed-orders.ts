import { ReviewSyncError } from '../../base/errors.ts';
import type { OrderKey, OrderPosition, RawOrder } from '../../shop/orders.ts';
import { warehouseNow } from '../../warehouse/clock.ts';
import { dueOrders } from '../../warehouse/orders/due-orders.ts';
import { advanceCursor, readCursor } from '../../warehouse/runs/cursors.ts';
import type { OrderDeps } from '../order-deps.ts';
import { noteKeylessOrders } from './keyless-orders.ts';
import { type Batch, stepsOf } from './steps.ts';

export type ChangedDeps = Pick<OrderDeps, 'shop' | 'db'>;

export type ChangedOptions = {
  /**
   * How far before its cursor the run reads again: a transaction that commits late carries an older date than the
   * cursor.
   */
  lookbackMinutes: number;
  /** Orders that the run plans and keeps in the queue at a time. 50,000 codes are 1 MB. */
  batchSize: number;
  /** Also orders that are to be tried again later: `--allow-removals` is to reach what was held back. */
  isAnyTime: boolean;
};

/**
 * How far an incremental run has come with the batch that is being pushed. Kept with its job in the queue, so plain
 * JSON.
 */
export type ChangedState = {
  /** The clocks of the shop and of the warehouse when the run was planned. */
  shopNow: string;
  startedAt: string;
  /** A step of the run failed: the cursor stays where it is, and the next run reads from there again. */
  isCursorHeld: boolean;
} & (
  | { reading: 'all orders'; next?: OrderPosition }
  /** `upTo`: where the cursor goes when the batch has ended. */
  | { reading: 'changes'; next?: OrderPosition; upTo?: OrderKey }
  | { reading: 'due orders'; after: string }
);

type Begun = Pick<ChangedState, 'shopNow' | 'startedAt' | 'isCursorHeld'>;

/**
 * The first batch of an incremental run. What a run reads, in this order:
 *
 * 1. Everything that changed since the cursor minus the lookback; without a cursor, from the beginning, or in a shop with
 *    a change feed all orders.
 * 2. Orders that are due although the shop did not change them (due-orders.ts), until none is.
 *
 * A run from the beginning also names the orders that no run reads, see noteKeylessOrders.
 */
export async function planChangedOrders(deps: ChangedDeps, options: ChangedOptions): Promise<Batch<ChangedState>> {
  if ((await readCursor(deps.db, 'orders')) === undefined) await noteKeyless(deps);
  return firstBatch(deps, options);
}

async function firstBatch(deps: ChangedDeps, options: ChangedOptions): Promise<Batch<ChangedState>> {
  const { shop, db } = deps;
  const startedAt = (await warehouseNow(db)).toISOString();
  const begun: Begun = { shopNow: await shop.now(), startedAt, isCursorHeld: false };
  const cursor = await readCursor(db, 'orders');
  if (cursor !== undefined) return readChanges(deps, begun, since(cursor.at, begun, options), options);
  const start = { at: '-infinity', code: '' };
  return (await shop.hasFeed()) ? readAll(deps, begun, start, options) : readChanges(deps, begun, start, options);
}

/** The orders that an incremental run would look at now, each once. Writes nothing. */
export async function* changedOrders(
  deps: ChangedDeps,
  options: ChangedOptions,
): AsyncGenerator<RawOrder[], void, undefined> {
  const shown = new Set<string>();
  for (
    let { steps, state } = await firstBatch(deps, options);
    ;
    { steps, state } = await planNext(deps, state, options)
  ) {
    for (const step of steps) {
      const codes = step.filter((code) => !shown.has(code));
      for (const code of codes) shown.add(code);
      yield await deps.shop.orders(codes);
    }
    if (state.reading === 'due orders' && steps.length === 0) return;
  }
}

/**
 * Saves how far a batch has come, now that all its steps have ended, and plans the next one. May be called again with
 * the same state after a crash: what it saves only moves forward.
 *
 * @param batch.failed whether some step failed: then the cursor stays, and the run goes on with the other orders.
 * @param batch.isLost whether no step succeeded: then a system is down, and the run ends.
 * @returns undefined where nothing remains to be read.
 */
export async function continueChangedOrders(
  deps: ChangedDeps,
  state: ChangedState,
  batch: { failed: boolean; isLost: boolean },
  options: ChangedOptions,
): Promise<Batch<ChangedState> | undefined> {
  const now = { ...state, isCursorHeld: state.isCursorHeld || batch.failed };
  if (batch.isLost) return undefined;
  await saveCursor(deps, now);
  const next = await planNext(deps, now, options);
  // A batch without orders has no step that would end.
  return next.steps.length > 0 ? next : planUntilOrders(deps, next.state, options);
}

async function planUntilOrders(
  deps: ChangedDeps,
  state: ChangedState,
  options: ChangedOptions,
): Promise<Batch<ChangedState> | undefined> {
  for (let now = state; ; ) {
    if (now.reading === 'due orders') return undefined;
    await saveCursor(deps, now);
    const next = await planNext(deps, now, options);
    if (next.steps.length > 0) return next;
    now = next.state;
  }
}

async function planNext(deps: ChangedDeps, state: ChangedState, options: ChangedOptions): Promise<Batch<ChangedState>> {
  const { shopNow, startedAt, isCursorHeld } = state;
  const begun: Begun = { shopNow, startedAt, isCursorHeld };
  switch (state.reading) {
    case 'all orders':
      // What changes during the reading is read by the next run: the cursor stands at its beginning.
      return state.next ? readAll(deps, begun, state.next, options) : readDue(deps, begun, '', options);
    case 'changes':
      if (state.next) return readChanges(deps, begun, state.next, options);
      return readDue(deps, begun, '', options);
    case 'due orders':
      return readDue(deps, begun, state.after, options);
    default:
      return state satisfies never;
  }
}

/**
 * Moves the cursor to the end of the run's last batch, and records when the run looked; only after every step of the
 * run was pushed or recorded as dead letters.
 */
export async function concludeChangedOrders(deps: ChangedDeps, state: ChangedState): Promise<void> {
  await saveCursor(deps, state);
  const cursor = await readCursor(deps.db, 'orders');
  if (cursor) await advanceCursor(deps.db, 'orders', { ...cursor, readTo: state.startedAt });
}

async function saveCursor({ db }: ChangedDeps, state: ChangedState): Promise<void> {
  if (state.isCursorHeld) return;
  if (state.reading === 'all orders' && !state.next) await advanceCursor(db, 'orders', { at: state.shopNow, code: '' });
  if (state.reading === 'changes' && state.upTo) await advanceCursor(db, 'orders', state.upTo);
}

/** The cursor minus the lookback. A cursor that is ahead of the shop's clock counts as that clock: it was set back. */
function since(cursor: string, { shopNow }: Begun, { lookbackMinutes }: ChangedOptions): OrderPosition {
  const at = Math.min(msOf(cursor), msOf(shopNow)) - lookbackMinutes * 60_000;
  return { at: new Date(at).toISOString(), code: '' };
}

async function readAll(
  { shop }: ChangedDeps,
  begun: Begun,
  after: OrderPosition,
  { batchSize: size }: ChangedOptions,
): Promise<Batch<ChangedState>> {
  const { keys, next } = await shop.orderCodes({ axis: 'code', after, size });
  return { steps: stepsOf(codesOf(keys)), state: { ...begun, reading: 'all orders', ...(next && { next }) } };
}

async function readChanges(
  { shop }: ChangedDeps,
  begun: Begun,
  after: OrderPosition,
  { batchSize }: ChangedOptions,
): Promise<Batch<ChangedState>> {
  const page = await shop.changedSince(after, batchSize);
  // Changes dated in the shop's future are read once a run: where dates move with the clock, the reading would never
  // end.
  const isAhead = msOf(after.at) > msOf(begun.shopNow);
  const { next } = isAhead ? { next: undefined } : page;
  const last = page.keys.at(-1);
  const state = {
    ...begun,
    reading: 'changes' as const,
    ...(next && { next }),
    ...(last && { upTo: notAfter(last, begun.shopNow) }),
  };
  return { steps: stepsOf(codesOf(page.keys)), state };
}

async function readDue(
  { db }: ChangedDeps,
  begun: Begun,
  after: string,
  { batchSize, isAnyTime }: ChangedOptions,
): Promise<Batch<ChangedState>> {
  const codes = await dueOrders(db, { before: begun.startedAt, isAnyTime, after, limit: batchSize });
  return { steps: stepsOf(codes), state: { ...begun, reading: 'due orders', after: codes.at(-1) ?? after } };
}

const codesOf = (keys: readonly OrderKey[]) => keys.map(({ code }) => code);

const notAfter = (key: OrderKey, latest: string): OrderKey =>
  msOf(key.at) > msOf(latest) ? { at: latest, code: '' } : key;

/** Milliseconds since 1970 of the shop's text in UTC, rounded down. A text that is not a date gives `Infinity`. */
function msOf(at: string): number {
  const parsed = Date.parse(at.replace(' ', 'T').replace(/\+00$/, 'Z'));
  if (at === '-infinity') return Number.NEGATIVE_INFINITY;
  return Number.isNaN(parsed) ? Number.POSITIVE_INFINITY : Math.floor(parsed);
}

/** A query that cannot be computed for all rows at once is left to the nightly check, which says so. */
async function noteKeyless(deps: ChangedDeps): Promise<void> {
  try {
    await noteKeylessOrders(deps);
  } catch (error) {
    if (!(error instanceof ReviewSyncError && error.code === 'shop-query')) throw error;
  }
}
