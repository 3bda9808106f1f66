import { sql } from 'kysely';
import { UsageError } from '../base/errors.ts';
import { type Db, listOf, scalarOf, write } from './index.ts';

/**
 * The types of a promoted column, each with the SQL expression of its value, from the JSON value and its text. A value
 * that does not fit becomes null: an error in a generated column would keep the review out. There is no date type:
 * Postgres reads dates by session settings, which a generated column may not use.
 */
const types: Readonly<Record<string, (field: string, text: string) => string>> = {
  text: (_field, text) => text,
  bigint: (_field, text) => `case when ${text} ~ '^-?\\d{1,18}$' then (${text})::bigint end`,
  numeric: (field, text) =>
    `case when jsonb_typeof(${field}) = 'number' or ${text} ~ '^-?\\d{1,30}(\\.\\d{1,30})?$' then (${text})::numeric end`,
  boolean: (_field, text) => `case ${text} when 'true' then true when 'false' then false end`,
  jsonb: (field) => field,
};

/**
 * Adds a column to `warehouse.reviews` and `bi.reviews` that Postgres generates from a field of `extra`. The statement
 * rewrites the table under an exclusive lock.
 *
 * @param promoted `extra.<field>:<type>`.
 * @returns the name of the column. `isNew` false: the column existed already.
 * @throws UsageError if `promoted` has another form, the type is unknown, or a column of that name exists.
 * @throws DatabaseError (isLockedOut) if another session uses the table for longer than ten seconds.
 */
export async function promoteField(db: Db, promoted: string): Promise<{ column: string; isNew: boolean }> {
  const [, column = '', type = ''] = /^extra\.([A-Za-z_][A-Za-z0-9_]{0,62}):(\w+)$/.exec(promoted) ?? [];
  const valueOfField = Object.hasOwn(types, type) ? types[type] : undefined;
  if (!valueOfField) {
    throw new UsageError(`expected extra.<field>:<type>, found ${JSON.stringify(promoted)}`, {
      hint: `A field has letters, digits and _; a type is one of ${Object.keys(types).join(', ')}. Dates are text.`,
    });
  }
  // Neither a quote nor a backslash can be in the name.
  const value = valueOfField(`extra -> '${column}'`, `extra ->> '${column}'`);
  const isNew = await db.transaction().execute(async (trx) => {
    await write(trx)`set local lock_timeout = '10s'; lock table warehouse.reviews in access exclusive mode`;
    if (await isThere(trx, column, type)) return false;
    const definition = await scalarOf<string>(trx)`select pg_get_viewdef('bi.reviews'::regclass)`;
    const view = definition.replace(/\s+FROM \w+\.reviews r\s/, (from) => `, r."${column}"${from}`);
    const comment = `'The field ${column} of extra (migrate --promote).'`;
    const statements = `
      alter table warehouse.reviews add column "${column}" ${type} generated always as (${value}) stored;
      create or replace view bi.reviews as ${view}
      comment on column warehouse.reviews."${column}" is ${comment}; comment on column bi.reviews."${column}" is ${comment}`;
    await sql.raw(statements).execute(trx);
    return true;
  });
  return { column, isNew };
}

/** Whether the field is promoted already. @throws UsageError if another column has the name, or the type differs. */
async function isThere(trx: Db, column: string, type: string): Promise<boolean> {
  // Files and BI tools treat `Score` and `score` as the same name.
  const rows = await listOf<{ type: string; isPromoted: boolean }>(trx)`
    select format_type(atttypid, null) as type, attgenerated = 's' and attname = ${column} as "isPromoted"
    from pg_attribute
    where attrelid in ('warehouse.reviews'::regclass, 'bi.reviews'::regclass) and lower(attname) = lower(${column})
      and not attisdropped
    order by attrelid = 'warehouse.reviews'::regclass desc`;
  const [found] = rows;
  // The views over all brands have a column `brand`, and the folders of `export parquet` give a column `month`.
  if (!found && !['brand', 'month'].includes(column.toLowerCase())) return false;
  if (found?.isPromoted && found.type === type) return true;
  const what = found?.isPromoted ? `is a column of type ${found.type} already` : 'is a column of reviews already';
  throw new UsageError(`${column} ${what}`, {
    hint: 'A field can be promoted once, with one type. The column has the name of the field.',
  });
}
