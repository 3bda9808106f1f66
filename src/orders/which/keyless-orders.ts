import type { Shop } from '../../shop/index.ts';
import { isShopTimeout } from '../../shop/shop-timeout.ts';
import { putDeadLetter, resolveKeylessDeadLetters } from '../../warehouse/dead-letters.ts';
import type { Db } from '../../warehouse/index.ts';
import { keylessDeadLetter } from '../order/prepare-order.ts';

/** `problem`: why it is unknown whether there are more, one sentence. */
export type KeylessReport = { found: number; problem?: string };

/**
 * Looks for orders without a usable code or without date, which no run reads, and keeps them as dead letters; closes the dead
 * letters of those that were corrected. Reads the whole of orders.sql in at most 30 s: for the first run and once a day.
 */
export async function keepKeylessOrders({ shop, db }: { shop: Shop; db: Db }): Promise<KeylessReport> {
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
  const deadLetters = read.rows.map(keylessDeadLetter);
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
