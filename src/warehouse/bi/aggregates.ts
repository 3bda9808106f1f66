import { sql } from 'kysely';
import { type Db, statement } from '../index.ts';

/** A kind of count behind the views of bi, and of how many of its combinations the count differs from the rows. */
export type WrongCount = { name: string; differing: number };

/**
 * Adds the changes of reviews and orders that triggers have logged to the counts behind the views of bi. The views are
 * exact without it, and slower by what is logged. Does nothing while another process does it.
 */
export async function foldChanges(db: Db): Promise<void> {
  // A session's first call of the function plans all its statements, which costs more than the rest of a run that
  // changes nothing.
  await sql`
    select sync.fold_changes()
    where exists (select from sync.review_changes) or exists (select from sync.order_changes)`.execute(db);
}

/**
 * Compares the counts behind the views of bi with the rows. Gives those that differ. Reads every review and every
 * order.
 */
export async function wrongCounts(db: Db): Promise<WrongCount[]> {
  const { rows } = await sql.raw<WrongCount>(await statement('compare_aggregates')).execute(db);
  return rows.filter(({ differing }) => differing > 0);
}

/**
 * Makes the counts behind the views of bi again from the rows, in one transaction. What writes reviews or orders waits.
 */
export async function rebuildAggregates(db: Db): Promise<void> {
  await sql`select sync.rebuild_aggregates()`.execute(db);
}
