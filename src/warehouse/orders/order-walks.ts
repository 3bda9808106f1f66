import { sql } from 'kysely';
import type { Db } from '../index.ts';

/**
 * The first push of a shop with a change feed: a walk over all orders by code, which a run that was interrupted goes on with.
 * `beganAt`: the shop's clock when the walk began, as text with microseconds; changes since then come from the feed.
 */
export type OrderWalk = { beganAt: string; afterCode: string; orders: number };

export async function readOrderWalk(db: Db): Promise<OrderWalk | undefined> {
  const { rows } = await sql<OrderWalk>`
    select began_at as "beganAt", after_code as "afterCode", orders from sync.order_walk`.execute(db);
  return rows[0];
}

/** Begins a walk, or gives the one that is going on: two runs that begin at once walk as one. */
export async function beginOrderWalk(db: Db, beganAt: string): Promise<OrderWalk> {
  await sql`insert into sync.order_walk (began_at) values (${beganAt}) on conflict do nothing`.execute(db);
  const walk = await readOrderWalk(db);
  return walk ?? { beganAt, afterCode: '', orders: 0 };
}

/** Moves the walk on. Does nothing where another run has moved it further, or has ended it. */
export async function advanceOrderWalk(db: Db, walk: OrderWalk): Promise<void> {
  await sql`
    update sync.order_walk set after_code = ${walk.afterCode}, orders = ${walk.orders}, updated_at = now()
    where began_at = ${walk.beganAt} and orders < ${walk.orders}`.execute(db);
}

export async function endOrderWalk(db: Db, beganAt: string): Promise<void> {
  await sql`delete from sync.order_walk where began_at = ${beganAt}`.execute(db);
}
