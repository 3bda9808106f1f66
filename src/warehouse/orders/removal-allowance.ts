import { sql } from 'kysely';
import { type Db, write } from '../index.ts';

/**
 * Takes removals from the allowance of the last 24 hours, all of them or none (promise 6). If the last push of an order
 * failed, the order does not count as pushed. Otherwise orders with held-back removals would enlarge the allowance that
 * holds them back.
 *
 * @returns whether the removals may be made.
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
