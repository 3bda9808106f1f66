import { sql } from 'kysely';
import pg from 'pg';
import { ReviewSyncError } from '../../base/errors.ts';
import { brandName } from '../brand.ts';
import { type ConnectedService, isSameAccount } from '../connected-service.ts';
import { type Db, isAny, listOf, valuesOf, write } from '../index.ts';

/** The brands that have schemas in this database. @param db without a brand, as everywhere in this file. */
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

/** The stored brand whose warehouse uses this service and account. @param db of any brand, or without one. */
export const ownerOf = (db: Db, service: ConnectedService): Promise<string | undefined> =>
  db.transaction().execute(async (trx) => {
    await sql.raw(setLockTimeout).execute(trx);
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

/** For one transaction. While a statement waits for a reader of the views, all later readers wait behind it. */
const setLockTimeout = `set local lock_timeout to '5s'`;

const id = pg.escapeIdentifier;
const text = (value: string | null) => (value === null ? 'null' : pg.escapeLiteral(value));

const viewsOf = (db: Db, brands: readonly string[]) =>
  listOf<View>(db)`
    select substring(n.nspname from 4) as brand, c.relname as name, obj_description(c.oid, 'pg_class') as comment,
      jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
        'comment', col_description(c.oid, a.attnum)) order by a.attnum) as columns
    from pg_namespace n
    join pg_class c on c.relnamespace = n.oid and c.relkind = 'v'
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where n.nspname = any(${brands.map((brand) => `bi_${brand}`)})
    group by n.nspname, c.oid, c.relname
    order by n.nspname, c.relname`;

/** The columns of some views, each name once, with the type and comment of the first view that has it. */
function columnsOf(views: readonly View[]): Column[] {
  const columns = new Map<string, Column>();
  for (const one of views.flatMap((view) => view.columns)) if (!columns.has(one.name)) columns.set(one.name, one);
  return [...columns.values()];
}

/** The select list of a view for these columns: null for a missing one. Undefined if a column has another type. */
function selected(view: View, columns: readonly Column[]): string | undefined {
  const types = new Map(view.columns.map(({ name, type }) => [name, type]));
  if (columns.some(({ name, type }) => (types.get(name) ?? type) !== type)) return undefined;
  return columns.map(({ name, type }) => (types.has(name) ? id(name) : `null::${type} as ${id(name)}`)).join(', ');
}

/** Whether the views over all brands include this brand. Only `bi.reviews` is checked. */
export const isInUnion = (db: Db, brand: string) =>
  isAny(db)`
    select from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
    where r.ev_class = to_regclass('bi.reviews') and d.refobjid = to_regclass(${`bi_${brand}.reviews`}) limit 1`;

/**
 * Makes the views of `bi` over all brands. Each view of `like` is the union of the views of that name in all brands.
 *
 * - The first column is `brand`. If a query filters by it, Postgres does not read the other brands.
 * - The role `bi_reader` may read the views.
 * - A column is null for a brand that lacks it: the brand is not migrated, or has not promoted the field.
 * - A brand is left out of a view if one of its columns has another type than in the first brand that has the column.
 *
 * @param like a migrated brand. Its views say which views are made.
 * @returns the brands that are left out.
 */
export async function makeUnion(db: Db, like: string): Promise<string[]> {
  if (!db.isTransaction) return db.transaction().execute((trx) => makeUnion(trx, like));
  const brands = await storedBrands(db);
  // Two machines may migrate at the same time.
  await write(db)`lock table ${sql.table(`review_sync_migrations_${brands[0]}.applied`)} in share row exclusive mode`;
  const all = await viewsOf(db, brands);
  const statements = [
    setLockTimeout,
    'create schema if not exists bi',
    `comment on schema bi is 'Each view of the schemas bi_<brand> over all brands, with a column brand first.'`,
  ];
  const leftOut = new Set<string>();
  for (const view of all.filter(({ brand }) => brand === like)) {
    const same = all.filter(({ brand, name }) => name === view.name && brand !== like);
    const columns = columnsOf([view, ...same]);
    const arms = [view, ...same].flatMap((one) => {
      const list = selected(one, columns);
      if (list === undefined) leftOut.add(one.brand);
      const from = `${id(`bi_${one.brand}`)}.${id(one.name)}`;
      return list === undefined ? [] : [`select ${text(one.brand)}::text as brand, ${list} from ${from}`];
    });
    const own = `bi.${id(view.name)}`;
    statements.push(
      `create or replace view ${own} as ${arms.join('\nunion all ')}`,
      `comment on view ${own} is ${text(view.comment)}`,
      `comment on column ${own}.brand is 'The brand, by which its file in BRANDS_DIR is named.'`,
      ...columns.map(({ name, comment }) => `comment on column ${own}.${id(name)} is ${text(comment)}`),
    );
  }
  if (await isAny(db)`select from pg_roles where rolname = 'bi_reader'`) {
    statements.push('grant usage on schema bi to bi_reader', 'grant select on all tables in schema bi to bi_reader');
  }
  await sql.raw(statements.join(';\n')).execute(db);
  return [...leftOut];
}

/**
 * Drops the views over all brands. The views of a brand cannot be changed while these views use them.
 *
 * @throws ReviewSyncError if other views use the views over all brands.
 */
export async function dropUnion(db: Db): Promise<void> {
  const names = await valuesOf<string>(db)`
    select format('bi.%I', relname) from pg_class where relnamespace = to_regnamespace('bi') and relkind = 'v'`;
  if (names.length === 0) return;
  const dropping = sql.raw(`${setLockTimeout}; drop view ${names.join(', ')}`).execute(db);
  await dropping.catch((cause: unknown) => {
    throw new ReviewSyncError('migration', 'The views of bi over all brands cannot be dropped', {
      cause,
      hint: 'Nothing was changed. End the session that reads them, or drop what is built on them. Then run migrate.',
    });
  });
}
