import type { Counts } from '../../base/counts.ts';
import { isStorable, isTooLong, isUsableCode, type RawRow, readOrder, tooLong, unstorable } from '../../shop/rows.ts';
import { isShopTimeout } from '../../shop/shop-timeout.ts';
import { putDeadLetters, resolveKeylessDeadLetters } from '../../warehouse/dead-letters.ts';
import { orderDeadLetter } from '../order/desired-order.ts';
import type { OrderDeps } from '../order-deps.ts';

/**
 * Looks for orders without a usable code or without date, which no run reads, and records them as dead letters; closes
 * the dead letters of those that were corrected. Reads the whole of orders.sql: for the first run and once a day.
 *
 * @returns `keyless_checks_cut` 1: there may be more, because looking took over 30 s or there are too many.
 */
export async function noteKeylessOrders({ shop, db }: Pick<OrderDeps, 'shop' | 'db'>): Promise<Counts> {
  const { rows, isComplete } = await shop.keylessOrders().catch((error: unknown) => {
    if (isShopTimeout(error)) return { rows: [], isComplete: false };
    throw error;
  });
  const deadLetters = rows.map((row) => orderDeadLetter(row, faultOf(row)));
  await putDeadLetters(db, deadLetters);
  const keys = deadLetters.map(({ key }) => key);
  if (isComplete) await resolveKeylessDeadLetters(db, keys);
  return { orders_without_key: rows.length, keyless_checks_cut: isComplete ? 0 : 1 };
}

function faultOf(row: RawRow): string {
  const { code } = row;
  const read = isUsableCode(code) ? readOrder(row) : undefined;
  if (read && 'fault' in read) return read.fault;
  if (isTooLong(code)) return tooLong('code', code);
  if (!isStorable(code ?? '')) return `code holds a character that cannot be stored (${unstorable})`;
  return 'code or date of the order is empty, expected a value';
}
