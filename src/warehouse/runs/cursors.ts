import { sql } from 'kysely';
import type { Db } from '../index.ts';

/**
 * How far a flow has come. orders: `at` and `code` of the last order read, `at` as the shop's text to the microsecond,
 * which a Date would cut; `readTo` is when that was looked for. reviews: everything updated up to `at` has been read;
 * `readTo` is when the run began that looked.
 */
export type Cursor = Readonly<{ at: string; code?: string; readTo?: string }>;
export type Flow = 'orders' | 'reviews';

export async function readCursor(db: Db, flow: Flow): Promise<Cursor | undefined> {
  const row = await db.selectFrom('sync.cursors').select('position').where('flow', '=', flow).executeTakeFirst();
  return row?.position as Cursor | undefined;
}

/**
 * Moves the cursor forward, the place and `readTo` each by itself; what is already further on stays, for two runs may
 * end in either order.
 */
export async function advanceCursor(db: Db, flow: Flow, cursor: Cursor): Promise<void> {
  await sql`
    insert into sync.cursors as kept (flow, position)
    values (${flow}, ${JSON.stringify(cursor)}::jsonb)
    on conflict (flow) do update set
      position = case
        when ((kept.position ->> 'at')::timestamptz, coalesce(kept.position ->> 'code', '') collate "C")
          < ((excluded.position ->> 'at')::timestamptz, coalesce(excluded.position ->> 'code', '') collate "C")
        then kept.position || excluded.position else excluded.position || kept.position
      end || case
        when (kept.position ->> 'readTo')::timestamptz > (excluded.position ->> 'readTo')::timestamptz
        then jsonb_build_object('readTo', kept.position -> 'readTo')
        else jsonb_strip_nulls(jsonb_build_object('readTo', excluded.position -> 'readTo'))
      end,
      updated_at = now()
  `.execute(db);
}
