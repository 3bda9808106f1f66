import { sql } from 'kysely';
import { dropUnion, makeUnion, storedBrands } from './bi/all-brands.ts';
import { inBrand, schemas } from './brand.ts';
import { type Db, rowOf, valuesOf } from './index.ts';

const ofBrand = (brand: string) => schemas.map((schema) => `${schema}_${brand}`);

/**
 * Makes the schemas without brand those of a brand, in one transaction. Tables, views, keys and grants go along; the texts
 * of functions name schemas, and are written again.
 *
 * @param db without a brand, as everywhere in this file.
 */
export async function moveToBrand(db: Db, brand: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`set local lock_timeout to '5s'`.execute(trx);
    for (const schema of schemas) {
      await sql`alter schema ${sql.id(schema)} rename to ${sql.id(`${schema}_${brand}`)}`.execute(trx);
    }
    const functions = await valuesOf<string>(trx)`
      select pg_get_functiondef(p.oid) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = any(${ofBrand(brand)}) and p.prokind in ('f', 'p')`;
    for (const text of functions) await sql.raw(inBrand(text, brand)).execute(trx);
  });
}

/** What a brand's schemas hold. */
export const contentsOf = (db: Db, brand: string) =>
  rowOf<Record<'reviews' | 'orders' | 'deadLetters' | 'runs', number>>(db)`
    select (select count(*)::integer from ${sql.table(`warehouse_${brand}.reviews`)}) as reviews,
      (select count(*)::integer from ${sql.table(`sync_${brand}.order_links`)}) as orders,
      (select count(*)::integer from ${sql.table(`sync_${brand}.dead_letters`)}) as "deadLetters",
      (select count(*)::integer from ${sql.table(`sync_${brand}.runs`)}) as runs`;

/** Drops a brand's schemas and role. @returns false if its role must stay, since something else was granted to it. */
export async function dropBrand(db: Db, brand: string): Promise<boolean> {
  await db.transaction().execute(async (trx) => {
    await sql`set local lock_timeout to '5s'`.execute(trx);
    await dropUnion(trx);
    for (const schema of ofBrand(brand)) await sql`drop schema ${sql.id(schema)} cascade`.execute(trx);
    const [like] = await storedBrands(trx);
    if (like !== undefined) await makeUnion(trx, like);
  });
  return sql`drop role if exists ${sql.id(`bi_reader_${brand}`)}`.execute(db).then(
    () => true,
    () => false,
  );
}
