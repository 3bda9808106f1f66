import { sql } from 'kysely';
import type { Db } from '../index.ts';

/** A category or grade of the shop's and the service's id of it; `fingerprint` is the hash of what was last pushed. */
export type CatalogLink = { code: string; id: number; fingerprint: string };

export type CatalogKind = 'category' | 'user_grade';

/** How a record at the service differs from the shop for good. */
type CatalogFault = 'not in the shop' | 'parent not cleared' | 'icon not cleared';

export type CatalogDifference = { kind: CatalogKind; code: string; differs: CatalogFault };

const tables = {
  category: { table: 'sync.category_links', code: 'category_code', id: 'category_id' },
  user_grade: { table: 'sync.user_grade_links', code: 'user_grade_code', id: 'user_grade_id' },
} as const;

/** All links of a kind, by the shop's code. */
export async function catalogLinks(db: Db, kind: CatalogKind): Promise<Map<string, CatalogLink>> {
  const { table, code, id } = tables[kind];
  const { rows } = await sql<CatalogLink>`
    select ${sql.ref(code)} as code, ${sql.ref(id)} as id, fingerprint from ${sql.table(table)}`.execute(db);
  return new Map(rows.map((row) => [row.code, row]));
}

/** Saves a link, and deletes a link of another code to the same id: the shop has renamed the code. */
export async function saveCatalogLink(db: Db, kind: CatalogKind, link: CatalogLink): Promise<void> {
  const { table, code, id } = tables[kind];
  await db.transaction().execute(async (trx) => {
    await sql`
      delete from ${sql.table(table)} where ${sql.ref(id)} = ${link.id} and ${sql.ref(code)} <> ${link.code}`.execute(
      trx,
    );
    await sql`
      insert into ${sql.table(table)} (${sql.ref(code)}, ${sql.ref(id)}, fingerprint)
      values (${link.code}, ${link.id}, ${link.fingerprint})
      on conflict (${sql.ref(code)}) do update
      set ${sql.ref(id)} = excluded.${sql.ref(id)}, fingerprint = excluded.fingerprint, linked_at = now()`.execute(trx);
  });
}

/**
 * Records what of a kind differs from the shop, after a run.
 *
 * @param shopCodes every code that the shop has, also of rows that could not be synced.
 * @param idsAtService undefined: not known. Links to ids that the service does not have are deleted, where the shop
 *   does not have the code either.
 * @returns codes that were pushed once, and that the service has but the shop does not.
 */
export async function recordDifferences(
  db: Db,
  kind: CatalogKind,
  found: { shopCodes: readonly string[]; idsAtService: readonly number[] | undefined; notCleared: readonly string[] },
): Promise<string[]> {
  const { table, code, id } = tables[kind];
  const { shopCodes, idsAtService, notCleared } = found;
  if (idsAtService) {
    await sql`
      delete from ${sql.table(table)}
      where ${sql.ref(code)} <> all(${shopCodes}) and ${sql.ref(id)} <> all(${idsAtService})`.execute(db);
  }
  const what = kind === 'category' ? 'parent not cleared' : 'icon not cleared';
  const { rows } = await sql<{ code: string; differs: CatalogFault | null }>`
    update ${sql.table(table)}
    set differs = case
      when ${sql.ref(code)} <> all(${shopCodes}) then 'not in the shop'
      when ${sql.ref(code)} = any(${notCleared}) then ${what}
    end
    returning ${sql.ref(code)} as code, differs`.execute(db);
  return rows.filter((row) => row.differs === 'not in the shop').map((row) => row.code);
}

/** Every category and grade that differs from the shop for good, by kind and code. */
export async function catalogDifferences(db: Db): Promise<CatalogDifference[]> {
  const { rows } = await sql<CatalogDifference>`
    select 'category' as kind, category_code as code, differs from sync.category_links where differs is not null
    union all
    select 'user_grade', user_grade_code, differs from sync.user_grade_links where differs is not null
    order by 1, 2`.execute(db);
  return rows;
}
