import { queriesChanged, queriesChangedHint } from '../src/app/alert-rules.ts';
import type { App } from '../src/app/app.ts';
import { noteOrderQueries } from '../src/warehouse/orders/order-queries.ts';

/** Records the queries of a run that reads orders, and logs if they have changed. @returns their hash. */
export async function noteQueries({ shop, warehouse: { db }, log }: App, run: { id: string }): Promise<string> {
  const hash = await shop.orderQueriesHash();
  if (await noteOrderQueries(db, hash)) log.warn({ run: run.id }, `${queriesChanged}; ${queriesChangedHint}`);
  return hash;
}
