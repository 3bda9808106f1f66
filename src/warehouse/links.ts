import type { Db } from './index.ts';
import { sql } from './sql.ts';

/** The known product ids of the service by the shop's product code. */
export async function productIds(db: Db, codes: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ code: string; id: number }>`
    select product_code as code, product_id as id from sync.product_links
    where product_code = any(${codes})`.execute(db);
  return new Map(rows.map(({ code, id }) => [code, id]));
}

export async function userGradeIds(db: Db): Promise<Map<string, number>> {
  const { rows } = await sql<{ code: string; id: number }>`
    select user_grade_code as code, user_grade_id as id from sync.user_grade_links`.execute(db);
  return new Map(rows.map(({ code, id }) => [code, id]));
}

/** The clock of the warehouse, for comparisons with dates that it wrote. */
export async function warehouseNow(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  return rows[0]?.now ?? new Date(0);
}
