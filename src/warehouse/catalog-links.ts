import { sql } from 'kysely';
import type { Db } from './index.ts';

export type CatalogLink = { code: string; id: number; fingerprint: string };

export async function categoryFingerprints(db: Db): Promise<Map<string, string>> {
  const rows = await db.selectFrom('sync.category_links').select(['category_code', 'fingerprint']).execute();
  return new Map(rows.map((row) => [row.category_code, row.fingerprint]));
}

export async function saveCategoryLink(db: Db, { code, id, fingerprint }: CatalogLink): Promise<void> {
  const values = { category_id: id, fingerprint, linked_at: sql<Date>`now()` };
  await db
    .insertInto('sync.category_links')
    .values({ category_code: code, ...values })
    .onConflict((conflict) => conflict.column('category_code').doUpdateSet(values))
    .execute();
}

export async function userGradeLinks(db: Db): Promise<Map<string, Omit<CatalogLink, 'code'>>> {
  const rows = await db.selectFrom('sync.user_grade_links').selectAll().execute();
  return new Map(rows.map((row) => [row.user_grade_code, { id: row.user_grade_id, fingerprint: row.fingerprint }]));
}

export async function saveUserGradeLink(db: Db, { code, id, fingerprint }: CatalogLink): Promise<void> {
  const values = { user_grade_id: id, fingerprint, linked_at: sql<Date>`now()` };
  await db
    .insertInto('sync.user_grade_links')
    .values({ user_grade_code: code, ...values })
    .onConflict((conflict) => conflict.column('user_grade_code').doUpdateSet(values))
    .execute();
}
