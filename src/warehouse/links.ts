import { sql } from 'kysely';
import type { Db } from './index.ts';

/** The known product ids of the service by the shop's product code. */
export async function productIds(db: Db, codes: readonly string[]): Promise<Map<string, number>> {
  if (codes.length === 0) return new Map();
  const rows = await db
    .selectFrom('sync.product_links')
    .where('product_code', 'in', codes)
    .select(['product_code', 'product_id'])
    .execute();
  return new Map(rows.map((row) => [row.product_code, row.product_id]));
}

export async function userGradeIds(db: Db): Promise<Map<string, number>> {
  const rows = await db.selectFrom('sync.user_grade_links').select(['user_grade_code', 'user_grade_id']).execute();
  return new Map(rows.map((row) => [row.user_grade_code, row.user_grade_id]));
}

/** The clock of the warehouse, for comparisons with dates that it wrote. */
export async function warehouseNow(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  return rows[0]?.now ?? new Date(0);
}
