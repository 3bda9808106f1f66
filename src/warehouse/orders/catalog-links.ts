import { sql } from 'kysely';
import { type Db, listOf, write } from '../index.ts';

/** A category or grade of the shop, and its id at the service. `fingerprint`: the hash of what was last pushed. */
export type CatalogLink = { code: string; id: number; fingerprint: string };

export type CatalogKind = 'category' | 'user_grade';

const namesOf = (kind: CatalogKind) => {
  return { table: sql.table(`sync.${kind}_links`), code: sql.ref(`${kind}_code`), id: sql.ref(`${kind}_id`) };
};

/** All links of a kind, by the shop's code. */
export async function catalogLinks(db: Db, kind: CatalogKind): Promise<Map<string, CatalogLink>> {
  const { table, code, id } = namesOf(kind);
  const rows = await listOf<CatalogLink>(db)`select ${code} as code, ${id} as id, fingerprint from ${table}`;
  return new Map(rows.map((row) => [row.code, row]));
}

/** Saves a link, and deletes a link of another code to the same id: the shop has renamed the code. */
export async function saveCatalogLink(db: Db, kind: CatalogKind, link: CatalogLink): Promise<void> {
  const { table, code, id } = namesOf(kind);
  await write(db)`delete from ${table} where ${id} = ${link.id} and ${code} <> ${link.code}`;
  await write(db)`
    insert into ${table} (${code}, ${id}, fingerprint) values (${link.code}, ${link.id}, ${link.fingerprint})
    on conflict (${code}) do update set ${id} = excluded.${id}, fingerprint = excluded.fingerprint, linked_at = now()`;
}

/**
 * Runs `work` in a transaction while no other process on this warehouse links member grades. Readers of links do not
 * wait.
 */
export const withGradesLocked = <T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> =>
  db.transaction().execute(async (trx) => {
    await write(trx)`lock table sync.user_grade_links in share row exclusive mode`;
    return work(trx);
  });
