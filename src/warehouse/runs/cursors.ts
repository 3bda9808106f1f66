import { sql } from 'kysely';
import type { Db } from '../index.ts';

/**
 * How far a flow has come. orders: `at` and `code` of the last order read, `at` as the shop's text to the microsecond,
 * which a Date would cut; `readTo` is when that was looked for. reviews: everything updated up to `at` has been read;
 * `readTo` is when the run began that looked.
 */
export type Cursor = Readonly<{ at: string; code?: string; readTo?: string }>;
export type Flow = 'orders' | 'reviews';

const columnOf = (flow: Flow) => sql.ref(`${flow}_cursor`);

export async function readCursor(db: Db, flow: Flow): Promise<Cursor | undefined> {
  const { rows } = await sql<{ cursor: Cursor | null }>`
    select ${columnOf(flow)} as cursor from sync.settings`.execute(db);
  return rows[0]?.cursor ?? undefined;
}

/**
 * Moves the cursor forward, the place and `readTo` each by itself; what is already further on stays, for two runs may
 * end in either order.
 */
export async function advanceCursor(db: Db, flow: Flow, cursor: Cursor): Promise<void> {
  const kept = sql`coalesce(${columnOf(flow)}, '{}')`;
  const given = sql`${JSON.stringify(cursor)}::jsonb`;
  const place = (of: typeof kept) => sql`((${of} ->> 'at')::timestamptz, coalesce(${of} ->> 'code', '') collate "C")`;
  const readTo = (of: typeof kept) => sql`(${of} ->> 'readTo')::timestamptz`;
  await sql`
    update sync.settings set ${columnOf(flow)} =
      case when ${place(kept)} > ${place(given)} then ${given} || ${kept} else ${kept} || ${given} end
      || case
        when ${readTo(kept)} > ${readTo(given)} then jsonb_build_object('readTo', ${kept} -> 'readTo')
        else jsonb_strip_nulls(jsonb_build_object('readTo', ${given} -> 'readTo'))
      end`.execute(db);
}
