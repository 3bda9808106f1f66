import { queriesChanged, queriesChangedHint } from '../src/app/alert-rules.ts';
import type { App } from '../src/app/app.ts';
import { noteOrderQueries } from '../src/warehouse/orders/order-queries.ts';

/** Notes by which queries a run reads orders, and logs that they have changed. @returns their hash. */
export async function noteQueries({ shop, warehouse: { db }, log }: App, run: { id: string }): Promise<string> {
  const hash = await shop.orderQueriesHash();
  if (await noteOrderQueries(db, hash)) log.warn({ run: run.id }, `${queriesChanged}; ${queriesChangedHint}`);
  return hash;
}
