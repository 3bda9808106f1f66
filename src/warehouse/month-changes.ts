import { sql } from 'kysely';
import type { Db } from './index.ts';

/**
 * Joins the rows of `sync.month_changes`: each fold adds some for changed reviews and orders, and triggers do for changed
 * codes of products. The version of a month is their sum, so it stays the same. Safe at any time, beside writers and beside itself.
 */
export async function compactMonthChanges(db: Db): Promise<void> {
  await sql`
    with taken as (delete from sync.month_changes returning relation, month, change)
    insert into sync.month_changes (relation, month, change)
    select relation, month, sum(change) from taken group by relation, month`.execute(db);
}
