import { sql } from 'kysely';
import type { Db } from './index.ts';

/** The clock of the warehouse, for comparisons with dates that it wrote. */
export async function warehouseNow(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  return rows[0]?.now ?? new Date(0);
}
