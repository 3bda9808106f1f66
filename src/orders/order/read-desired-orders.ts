import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RawOrder } from '../../shop/orders.ts';
import { isUsableCode } from '../../shop/rows.ts';
import type { NewDeadLetter } from '../../warehouse/dead-letters.ts';
import type { Db } from '../../warehouse/index.ts';
import { productIds, userGradeIds } from '../../warehouse/orders/known-ids.ts';
import { type OrderLink, orderLinks } from '../../warehouse/orders/order-links.ts';
import { type DesiredOrder, desiredOrder } from './desired-order.ts';
import { prepareOrder } from './prepare-order.ts';

/**
 * The shop's rows checked against the contract, as the service should have them, with the ids of products and member grades that
 * are known so far. Orders that cannot be read are dead letters.
 */
export async function readDesiredOrders(
  db: Db,
  raws: readonly RawOrder[],
): Promise<{ orders: DesiredOrder[]; deadLetters: NewDeadLetter[] }> {
  const codes = raws.flatMap((raw) => raw.lines.map((line) => line.product_code));
  const products = await productIds(db, [...new Set(codes.filter(isUsableCode))]);
  const gradeIds = await userGradeIds(db);
  const orders: DesiredOrder[] = [];
  const deadLetters: NewDeadLetter[] = [];
  for (const [index, raw] of raws.entries()) {
    // 200 orders take some 6 ms: responses are handled meanwhile.
    if (index % 8 === 7) await nextTurn();
    const prepared = prepareOrder(raw, products);
    if ('order' in prepared) orders.push(desiredOrder(prepared, gradeIds));
    else deadLetters.push(prepared);
  }
  return { orders, deadLetters };
}

/** What is remembered of these orders, by code. */
export const readLinksOf = (db: Db, orders: readonly DesiredOrder[]): Promise<Map<string, OrderLink>> =>
  orderLinks(
    db,
    orders.map(({ prepared }) => prepared.order.code),
  );
