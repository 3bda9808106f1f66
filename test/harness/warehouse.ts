import { afterAll, onTestFinished } from 'vitest';
import { recountAll } from '../../src/warehouse/bi/recount.ts';
import { openWarehouse } from '../../src/warehouse/index.ts';
import { createDatabase, queryAgain } from './database.ts';

/** A migrated database of its own; `ask` runs a statement in it. */
export async function createWarehouse() {
  const url = await createDatabase('migrated');
  const ask = <Row extends Record<string, unknown>>(text: string, values?: unknown[]) =>
    queryAgain<Row>(url, text, values);
  return { url, ask };
}

/**
 * The same with all that review-sync opens of it. It is closed with the test, or with the file if no test is running.
 */
export async function openTestWarehouse(connections = 1) {
  const { url, ask } = await createWarehouse();
  const warehouse = await openWarehouse({ url, connections });
  try {
    onTestFinished(() => warehouse.close());
  } catch {
    afterAll(() => warehouse.close());
  }
  return { url, ask, warehouse, db: warehouse.db };
}

/** Counts all rows for bi again: rows that a test inserts by hand are not touched. */
export async function countByHand(warehouseUrl: string): Promise<void> {
  const warehouse = await openWarehouse({ url: warehouseUrl, connections: 1 });
  try {
    await recountAll(warehouse.db);
  } finally {
    await warehouse.close();
  }
}
