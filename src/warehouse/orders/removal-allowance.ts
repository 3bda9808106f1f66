import { sql } from 'kysely';
import { type Db, write } from '../index.ts';

/**
 * Takes removals from the allowance of the last 24 hours, all of them or none (promise 6). An order whose last push failed
 * does not count as pushed: orders whose removals are held back would enlarge the allowance that holds them.
 *
 * @returns whether they may be made.
 */
export async function takeRemovals(
  db: Db,
  removals: number,
  { perDay, shareOfPushed }: { perDay: number; shareOfPushed: number },
): Promise<boolean> {
  const recent = sql`array(select at from unnest(removals_taken_at) as at where at > clock_timestamp() - interval '1 day')`;
  const after = sql`cardinality(${recent}) + ${removals}::integer`;
  const taken = await write(db)`
    update sync.settings
    set removals_taken_at = ${recent} || array_fill(clock_timestamp(), array[${removals}::integer])
    where ${after} <= ${perDay} or ${after} <= ${shareOfPushed}::numeric * (
      select count(*) from sync.order_links where failed_pushes = 0 and pushed_at > clock_timestamp() - interval '1 day'
    )`;
  return taken > 0;
}
