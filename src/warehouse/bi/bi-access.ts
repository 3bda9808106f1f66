import { sql } from 'kysely';
import { ReviewSyncError } from '../../base/errors.ts';
import { isAny, scalarOf, statement, type Warehouse, write } from '../index.ts';
import { recountAll } from './recount.ts';

/**
 * Sets the zone in which the days of `bi` begin, and the role that may read its views.
 *
 * @returns whether the role `bi_reader`, and for a brand also `bi_reader_<brand>`, can read them; false if the role is
 *   missing and this user may not create it.
 * @throws ReviewSyncError if Postgres does not know the zone.
 */
export async function prepareBi({ db, brand }: Warehouse, { timeZone }: { timeZone: string }): Promise<boolean> {
  if (!(await isAny(db)`select from pg_timezone_names where lower(name) = lower(${timeZone}) limit 1`)) {
    throw new ReviewSyncError('time-zone', `The warehouse's Postgres does not know the time zone ${timeZone}`, {
      hint: 'Set REVIEW_API_TIME_ZONE to one of: select name from pg_timezone_names',
    });
  }
  // Without `counted_at`, the next count counts everything, even if this process dies first.
  const changed = await write(db)`
    update sync.settings set time_zone = ${timeZone}, counted_at = null where time_zone <> ${timeZone}`;
  if (changed > 0) await recountAll(db);
  const roles = ['bi_reader', ...(brand === undefined ? [] : [`bi_reader_${brand}`])];
  const text = await statement('open_bi_to_readers');
  for (const role of roles) await sql.raw(text.replaceAll(/\bbi_reader\b/g, role)).execute(db);
  const readers = await scalarOf<number>(db)`
    select count(*) from pg_roles where rolname = any(${roles}) and has_table_privilege(oid, 'bi.reviews', 'select')`;
  return readers === roles.length;
}
