import { isStorable, isTooLong, isUsableCode, type RawRow, readOrder, tooLong, unstorable } from '../../shop/rows.ts';
import { isShopTimeout } from '../../shop/shop-timeout.ts';
import { putDeadLetter, resolveKeylessDeadLetters } from '../../warehouse/dead-letters.ts';
import { orderDeadLetter } from '../order/desired-order.ts';
import type { OrderDeps } from '../order-deps.ts';

/** `problem`: why it is unknown whether there are more, one sentence. */
export type KeylessReport = { found: number; problem?: string };

/**
 * Looks for orders without a usable code or without date, which no run reads, and records them as dead letters; closes
 * the dead letters of those that were corrected. Reads the whole of orders.sql in at most 30 s: for the first run and
 * once a day.
 */
export async function noteKeylessOrders({ shop, db }: Pick<OrderDeps, 'shop' | 'db'>): Promise<KeylessReport> {
  const read = await shop.keylessOrders().catch((error: unknown) => {
    if (isShopTimeout(error)) return undefined;
    throw error;
  });
  if (read === undefined) {
    return {
      found: 0,
      problem: 'It is unknown whether orders.sql has rows without code or date: looking took over 30 s',
    };
  }
  const deadLetters = read.rows.map((row) => orderDeadLetter(row, faultOf(row)));
  for (const deadLetter of deadLetters) await putDeadLetter(db, deadLetter);
  if (!read.isComplete) {
    const problem = `orders.sql has more than ${read.rows.length} rows without code or date; only these were kept as dead letters`;
    return { found: read.rows.length, problem };
  }
  await resolveKeylessDeadLetters(
    db,
    deadLetters.map((deadLetter) => deadLetter.key),
  );
  return { found: read.rows.length };
}

function faultOf(row: RawRow): string {
  const { code } = row;
  if (isUsableCode(code)) {
    const read = readOrder(row);
    if ('fault' in read) return read.fault;
  }
  if (isTooLong(code)) return tooLong('code', code);
  if (!isStorable(code ?? '')) return `code holds a character that cannot be stored (${unstorable})`;
  return 'code or date of the order is empty, expected a value';
}
