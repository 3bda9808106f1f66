import { sql } from 'kysely';
import pg from 'pg';
import { ReviewSyncError } from '../../base/errors.ts';
import { brandName, inBrand, schemas } from '../brand.ts';
import { type ConnectedService, isSameAccount } from '../connected-service.ts';
import { type Db, isAny, listOf, rowOf, rowsOf, valuesOf, write } from '../index.ts';

/** The brands that have schemas in this database. @param db without a brand, as in this file except `ownerOf`. */
export async function storedBrands(db: Db): Promise<string[]> {
  const brands = await valuesOf<string>(db)`
    select substring(nspname from 6) from pg_namespace
    where starts_with(nspname, 'sync_') and to_regclass(quote_ident(nspname) || '.settings') is not null
      and to_regclass(quote_ident('review_sync_migrations_' || substring(nspname from 6)) || '.applied') is not null
    order by nspname collate "C"`;
  return brands.filter((brand) => brandName.test(brand));
}

/** Whether the database has the schemas of a warehouse without brands. */
export const hasPlainSchemas = (db: Db) => isAny(db)`select where to_regclass('sync.settings') is not null`;

/** A transaction that gives up soon. If a statement waits for a reader of the views, later readers wait behind it. */
const briefly = <T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> =>
  db.isTransaction
    ? work(db)
    : db.transaction().execute(async (trx) => {
        await write(trx)`set local lock_timeout to '5s'`;
        return work(trx);
      });

/** The stored brand that uses this service and account. @param db of any brand, or without one. */
export const ownerOf = (db: Db, service: ConnectedService): Promise<string | undefined> =>
  briefly(db, async (trx) => {
    for (const brand of await storedBrands(trx)) {
      const own = await listOf<ConnectedService>(trx)`
        select service_address as address, service_client as client from ${sql.table(`sync_${brand}.settings`)}
        where service_address is not null`;
      if (own.some((one) => isSameAccount(one, service))) return brand;
    }
    return undefined;
  });

type View = { brand: string; name: string; comment: string | null; columns: Column[] };
type Column = { name: string; type: string; comment: string | null };

const id = pg.escapeIdentifier;
const text = (value: string | null) => (value === null ? 'null' : pg.escapeLiteral(value));

/** The select list of a view for these columns. If the view lacks a column, or has another type for it: null. */
function selected(view: View, columns: readonly Column[]): string {
  const types = new Map(view.columns.map(({ name, type }) => [name, type]));
  return columns
    .map(({ name, type }) => (types.get(name) === type ? id(name) : `null::${type} as ${id(name)}`))
    .join(', ');
}

/** Whether the views over all brands include this brand. Only `bi.reviews` is checked. */
export const isInUnion = (db: Db, brand: string) =>
  isAny(db)`
    select from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
    where r.ev_class = to_regclass('bi.reviews') and d.refobjid = to_regclass(${`bi_${brand}.reviews`}) limit 1`;

/**
 * Creates the views of `bi` over all brands: for each view of `like`, the union of the views of that name.
 *
 * - The first column is `brand`. If a query filters by it, Postgres does not read the other brands.
 * - The role `bi_reader` may read the views.
 * - If a brand lacks a column, or has another type for it, the column is null: the brand is not migrated, or has
 *   promoted the field in another way.
 *
 * @param like a migrated brand. Its view names are used, and its columns come first.
 */
export const makeUnion = (db: Db, like: string): Promise<void> =>
  briefly(db, async (trx) => {
    const brands = await storedBrands(trx);
    // Two machines may migrate at the same time.
    const lock = sql.table(`review_sync_migrations_${brands[0]}.applied`);
    await write(trx)`lock table ${lock} in share row exclusive mode`;
    const all = await rowsOf<View>(
      trx,
      'views_of_brands',
      brands.map((brand) => `bi_${brand}`),
    );
    const statements = [
      'create schema if not exists bi',
      `comment on schema bi is 'Each view of the schemas bi_<brand> over all brands, with a column brand first.'`,
    ];
    for (const view of all.filter(({ brand }) => brand === like)) {
      const same = [view, ...all.filter(({ brand, name }) => name === view.name && brand !== like)];
      const every = same.flatMap((one) => one.columns);
      // Each name once, with the type and comment of the first view that has it.
      const columns = every.filter((one, at) => every.findIndex(({ name }) => name === one.name) === at);
      const arms = same.map((one) => {
        const from = `${id(`bi_${one.brand}`)}.${id(one.name)}`;
        return `select ${text(one.brand)}::text as brand, ${selected(one, columns)} from ${from}`;
      });
      const own = `bi.${id(view.name)}`;
      statements.push(
        `create or replace view ${own} as ${arms.join('\nunion all ')}`,
        `comment on view ${own} is ${text(view.comment)}`,
        `comment on column ${own}.brand is 'The brand, by which its file in BRANDS_DIR is named.'`,
        ...columns.map(({ name, comment }) => `comment on column ${own}.${id(name)} is ${text(comment)}`),
      );
    }
    if (await isAny(trx)`select from pg_roles where rolname = 'bi_reader'`) {
      statements.push('grant usage on schema bi to bi_reader', 'grant select on all tables in schema bi to bi_reader');
    }
    await sql.raw(statements.join(';\n')).execute(trx);
  });

/**
 * Drops the views over all brands. The views of a brand cannot be changed while these views use them.
 *
 * @throws ReviewSyncError if other views use the views over all brands.
 */
export async function dropUnion(db: Db): Promise<void> {
  const names = await valuesOf<string>(db)`
    select format('bi.%I', relname) from pg_class where relnamespace = to_regnamespace('bi') and relkind = 'v'`;
  if (names.length === 0) return;
  const dropping = briefly(db, (trx) => sql.raw(`drop view ${names.join(', ')}`).execute(trx));
  await dropping.catch((cause: unknown) => {
    throw new ReviewSyncError('migration', 'The views of bi over all brands cannot be dropped', {
      cause,
      hint: 'Nothing was changed. End the session that reads them, or drop what is built on them. Then run migrate.',
    });
  });
}

/**
 * Turns the schemas without brand into those of a brand, in one transaction. Tables, views, keys and grants go along.
 * Function texts name schemas, and are rewritten.
 */
export const moveToBrand = (db: Db, brand: string): Promise<void> =>
  briefly(db, async (trx) => {
    const renamed = schemas.map((schema) => `${schema}_${brand}`);
    for (const schema of schemas) {
      await write(trx)`alter schema ${sql.id(schema)} rename to ${sql.id(`${schema}_${brand}`)}`;
    }
    const functions = await valuesOf<string>(trx)`
      select pg_get_functiondef(p.oid) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = any(${renamed}) and p.prokind in ('f', 'p')`;
    for (const definition of functions) await sql.raw(inBrand(definition, brand)).execute(trx);
  });

export const contentsOf = (db: Db, brand: string) =>
  rowOf<Record<'reviews' | 'orders' | 'deadLetters' | 'runs', number>>(db)`
    select (select count(*)::integer from ${sql.table(`warehouse_${brand}.reviews`)}) as reviews,
      (select count(*)::integer from ${sql.table(`sync_${brand}.order_links`)}) as orders,
      (select count(*)::integer from ${sql.table(`sync_${brand}.dead_letters`)}) as "deadLetters",
      (select count(*)::integer from ${sql.table(`sync_${brand}.runs`)}) as runs`;

/** Drops a brand's schemas and role. @returns false if the role must stay, because it has other grants. */
export async function dropBrand(db: Db, brand: string): Promise<boolean> {
  await briefly(db, async (trx) => {
    await dropUnion(trx);
    for (const schema of schemas) await write(trx)`drop schema ${sql.id(`${schema}_${brand}`)} cascade`;
    const [like] = await storedBrands(trx);
    if (like !== undefined) await makeUnion(trx, like);
  });
  const dropping = write(db)`drop role if exists ${sql.id(`bi_reader_${brand}`)}`;
  return dropping.then(
    () => true,
    () => false,
  );
}
