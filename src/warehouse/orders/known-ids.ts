import type { Db } from '../index.ts';

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
