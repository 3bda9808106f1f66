import { type RawBuilder, sql } from 'kysely';
import { type Db, scalarOf, write } from '../index.ts';

/** Removals of one order. In 24 hours `perDay` removals are allowed, or a share of the orders pushed, if more. */
export type Removals = { removals: number; perDay: number; shareOfPushed: number };

/**
 * Takes removals from the allowance of the last 24 hours, of each order all of them or none (promise 6). If the last
 * push of an order failed, the order does not count as pushed. Otherwise orders with held-back removals would enlarge
 * the allowance that holds them back.
 *
 * @returns for each order whether the removals may be made.
 */
export async function takeRemovals(db: Db, orders: readonly Removals[]): Promise<boolean[]> {
  const taken: boolean[] = [];
  for (const { removals, perDay } of orders) taken.push(await takeUpTo(db, sql`${perDay}::integer`, removals));
  if (!taken.includes(false)) return taken;
  // Reads all orders: once for many, and not while other processes wait for the row of the settings.
  const pushed = await scalarOf<number>(db)`
    select count(*) from sync.order_links where failed_pushes = 0 and pushed_at > clock_timestamp() - interval '1 day'`;
  for (const [index, { removals, shareOfPushed }] of orders.entries()) {
    taken[index] ||= await takeUpTo(db, sql`${shareOfPushed}::numeric * ${pushed}::bigint`, removals);
  }
  return taken;
}

/** Takes the removals if the last 24 hours then have at most `most`. */
async function takeUpTo(db: Db, most: RawBuilder<unknown>, removals: number): Promise<boolean> {
  const recent = sql`array(select at from unnest(removals_taken_at) as at where at > clock_timestamp() - interval '1 day')`;
  const taken = await write(db)`
    update sync.settings
    set removals_taken_at = ${recent} || array_fill(clock_timestamp(), array[${removals}::integer])
    where cardinality(${recent}) + ${removals}::integer <= ${most}`;
  return taken > 0;
}
