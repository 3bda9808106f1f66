import { sql } from 'kysely';
import type { Db } from '../index.ts';

/** An order of which something is to be removed at the service: how many sub-orders, or 1 for the order itself. */
export type WantedRemoval = { code: string; removals: number };

/**
 * What pushes took note of and nobody has removed or held back: of this run, and of runs that ended before they could remove
 * it. A run that has not ended counts what its own pushes took note of.
 */
export async function wantedRemovals(db: Db, runId: string | undefined): Promise<WantedRemoval[]> {
  const { rows } = await sql<WantedRemoval>`
    select order_code as code, removals_wanted as removals from sync.order_links
    where removals_wanted > 0 and not removals_held and (
      removals_run = ${runId ?? null}
      or not exists (select from sync.runs r where r.id = removals_run and r.finished_at is null)
    )
    order by order_code`.execute(db);
  return rows;
}

/** How many removals pushes took note of that nobody has made or held back: of a run that has not ended, or was killed. */
export async function removalsWaiting(db: Db): Promise<number> {
  const { rows } = await sql<{ removals: number }>`
    select coalesce(sum(removals_wanted), 0)::integer as removals from sync.order_links
    where removals_wanted > 0 and not removals_held`.execute(db);
  return rows[0]?.removals ?? 0;
}

/** Orders with removals that are held back, by code, at most so many. */
export async function heldOrders(db: Db, afterCode: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select order_code as code from sync.order_links
    where removals_held and removals_wanted > 0 and order_code > ${afterCode} order by order_code limit ${limit}`.execute(
    db,
  );
  return rows.map((row) => row.code);
}

/** Holds removals back until somebody allows them: the orders become dead letters with this reason. */
export async function holdRemovals(
  db: Db,
  runId: string | undefined,
  { codes, reason }: { codes: readonly string[]; reason: string },
): Promise<void> {
  await sql`
    with held as (
      update sync.order_links
      set removals_held = true, removals_run = ${runId ?? null}, failures = greatest(failures, 1)
      where order_code = any(${codes}) and removals_wanted > 0
      returning order_code, removals_wanted
    )
    insert into sync.dead_letters as kept (kind, key, order_code, reason, payload)
    select 'order', order_code, order_code, ${reason}, jsonb_build_object('code', order_code, 'removals', removals_wanted)
    from held
    on conflict (kind, key) where resolved_at is null do update
    set reason = excluded.reason, payload = excluded.payload, attempts = kept.attempts + 1, last_failed_at = now(),
      checked_at = now()`.execute(db);
}

/** How many removals this run has held back. */
export async function removalsHeldBy(db: Db, runId: string): Promise<number> {
  const { rows } = await sql<{ removals: number }>`
    select coalesce(sum(removals_wanted), 0)::integer as removals from sync.order_links
    where removals_held and removals_run = ${runId}`.execute(db);
  return rows[0]?.removals ?? 0;
}

/** How many removals are held back in orders with an open dead letter, whichever run held them back. */
export async function removalsHeld(db: Db): Promise<number> {
  const { rows } = await sql<{ removals: number }>`
    select coalesce(sum(removals_wanted), 0)::integer as removals from sync.order_links l
    where removals_held and exists (
      select from sync.dead_letters d where d.kind = 'order' and d.key = l.order_code and d.resolved_at is null
    )`.execute(db);
  return rows[0]?.removals ?? 0;
}

/** The error of a run after which removals are held back. */
export const heldRemovalsProblem = (held: number) =>
  `${held} removals of orders and lines are held back. If they are right, run: npx review-sync sync orders --allow-removals`;
