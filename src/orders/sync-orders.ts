import { addCounts, type Counts } from '../counts.ts';
import type { Shop } from '../shop/index.ts';
import type { OrderKey, OrderSlice, RawOrder } from '../shop/orders.ts';
import { advanceCursor, type Cursor, dropCursor, readCursor } from '../warehouse/cursors.ts';
import {
  type NewDeadLetter,
  openOrderLetters,
  putDeadLetter,
  resolveKeylessLetters,
} from '../warehouse/dead-letters.ts';
import type { Db } from '../warehouse/index.ts';
import { orderLinks, productIds, userGradeIds, warehouseNow } from '../warehouse/links.ts';
import type { ContactPolicy } from './contact-rule.ts';
import { isUnchanged } from './order-intent.ts';
import { orderLetter, type PreparedOrder, prepareOrder } from './prepare-order.ts';
import { type PushDeps, pushOrders } from './push-orders.ts';

export type SyncDeps = { shop: Shop; db: Db };

/** What one step pushes: a slice of the walk, or orders that have a dead letter and may go by now. */
export type OrderStep = ({ slice: OrderSlice } | { codes: string[] }) & { contact: ContactPolicy };

/** Orders in one step: small enough to lose, large enough that reading them is not what takes the time. */
export const ordersPerStep = 200;

/**
 * The steps of an incremental run: everything that changed since the cursor minus an overlap, since a transaction that
 * commits late carries an older `updated_at` than the cursor. Without a cursor, everything.
 */
export async function planSyncOrders(
  deps: SyncDeps,
  options: { overlapMinutes: number },
): Promise<{ steps: OrderStep[]; upTo: OrderKey | undefined }> {
  const cursor = await soundCursor(deps);
  const after = { at: cursor ? minutesBefore(cursor.at, options.overlapMinutes) : '-infinity', code: '' };
  await keepKeyless(deps);
  const { slices, now } = await deps.shop.planOrderSlices({ axis: 'updated', after, size: ordersPerStep });
  const letters = await openOrderLetters(deps.db);
  const steps: OrderStep[] = slices.map((slice) => ({ slice, contact: 'young' }));
  for (let at = 0; at < letters.length; at += ordersPerStep) {
    steps.push({ codes: letters.slice(at, at + ordersPerStep), contact: 'young' });
  }
  const last = slices.at(-1)?.upTo;
  return { steps, upTo: last && instantOf(last.at) > instantOf(now) ? { at: now, code: '' } : last };
}

/**
 * The cursor, unless it lies in the shop's future: a row dated ahead took it there, and what changed since would never be
 * seen. Then everything is read again; what has not changed costs no request.
 */
async function soundCursor(deps: SyncDeps): Promise<Cursor | undefined> {
  const cursor = await readCursor(deps.db, 'orders');
  if (!cursor || instantOf(cursor.at) <= instantOf(await deps.shop.now())) return cursor;
  await dropCursor(deps.db, 'orders');
  return undefined;
}

/** Rows that no walk can meet become dead letters; those that were mended close theirs. */
async function keepKeyless(deps: SyncDeps): Promise<void> {
  const reason = 'code, created_at or updated_at is null or infinite, expected a value';
  const letters = (await deps.shop.keylessOrders()).map((raw) => orderLetter(raw, reason));
  for (const letter of letters) await putDeadLetter(deps.db, letter);
  await resolveKeylessLetters(
    deps.db,
    letters.map((letter) => letter.key),
  );
}

/**
 * Moves the cursor; only after every slice of the run was pushed or kept as dead letters.
 *
 * @param readTo when the run was planned: what changed before was seen, though nothing may have.
 */
export async function concludeSyncOrders(db: Db, upTo: OrderKey | undefined, readTo: Date): Promise<void> {
  const at = upTo ?? (await readCursor(db, 'orders'));
  if (at) await advanceCursor(db, 'orders', { ...at, readTo: readTo.toISOString() });
}

export type PushStepDeps = Omit<PushDeps, 'gradeIds' | 'contactPolicy' | 'readAgain'> & { shop: Shop };

/** Orders that are pushed side by side, and remembered together. */
const ordersAtOnce = 50;

/**
 * Pushes the orders of one step, as they are in the shop now. A row that breaks the contract becomes a dead letter.
 *
 * @throws the client's errors when the service cannot be reached; what was pushed until then stays pushed.
 */
export async function pushStep(deps: PushStepDeps, step: OrderStep): Promise<Counts> {
  const readAt = await warehouseNow(deps.db);
  const raws = 'slice' in step ? await deps.shop.orderSlice(step.slice) : await deps.shop.orders(step.codes);
  const push: PushDeps = {
    ...deps,
    gradeIds: await userGradeIds(deps.db),
    contactPolicy: step.contact,
    readAgain: async (codes) => (await prepareAll(deps.db, await deps.shop.orders(codes))).sound,
  };
  const { sound, letters } = await prepareAll(deps.db, raws);
  for (const letter of letters) await putDeadLetter(deps.db, letter);
  const codes = sound.map((one) => one.order.code);
  const links = await orderLinks(deps.db, codes);
  const changed = sound.filter((one) => !isUnchanged(push, one, links.get(one.order.code)));
  const unchanged = sound.length - changed.length;
  const counts: Counts[] = [{ orders: raws.length, orders_unchanged: unchanged, orders_refused: letters.length }];
  for (let at = 0; at < changed.length; at += ordersAtOnce) {
    deps.signal.throwIfAborted();
    counts.push(await pushOrders(push, changed.slice(at, at + ordersAtOnce), readAt));
  }
  return addCounts(counts);
}

/** The rows checked against the contract, with the product ids that are known so far. */
async function prepareAll(
  db: Db,
  raws: readonly RawOrder[],
): Promise<{ sound: PreparedOrder[]; letters: NewDeadLetter[] }> {
  const products = await productIds(db, productCodesOf(raws));
  const prepared = raws.map((raw) => prepareOrder(raw, products));
  return {
    sound: prepared.filter((one): one is PreparedOrder => 'order' in one),
    letters: prepared.filter((one): one is NewDeadLetter => !('order' in one)),
  };
}

export function productCodesOf(raws: readonly RawOrder[]): string[] {
  const codes = raws.flatMap((raw) => raw.lines.map((line) => line.product_code));
  return [...new Set(codes.filter((code): code is string => typeof code === 'string'))];
}

/** Of the shop's text in UTC, down to the millisecond below; what is no date lies beyond all. */
function instantOf(at: string): number {
  const parsed = Date.parse(at.replace(' ', 'T').replace(/\+00$/, 'Z'));
  return Number.isNaN(parsed) ? Number.POSITIVE_INFINITY : Math.floor(parsed);
}

/** Earlier is harmless here. */
function minutesBefore(at: string, minutes: number): string {
  return new Date(instantOf(at) - minutes * 60_000).toISOString();
}
