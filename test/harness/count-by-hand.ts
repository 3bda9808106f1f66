import { recountAll } from '../../src/warehouse/bi/recount.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';

/** Counts all rows for bi again: rows that a test inserts by hand are not touched. */
export async function countByHand(warehouseUrl: string): Promise<void> {
  const warehouse = await openWarehouse({ url: warehouseUrl, connections: 1 });
  try {
    await recountAll(warehouse.db);
  } finally {
    await warehouse.close();
  }
}
