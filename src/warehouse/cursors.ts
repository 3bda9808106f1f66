import { sql } from 'kysely';
import type { Db } from './index.ts';

/**
 * How far a flow has come. orders: `at` and `code` of the last order read, `at` as the shop's text to the microsecond,
 * which a Date would cut. reviews: everything updated up to `at` has been read.
 */
export type Cursor = Readonly<{ at: string; code?: string }>;
export type Flow = 'orders' | 'reviews';

export async function readCursor(db: Db, flow: Flow): Promise<Cursor | undefined> {
  const row = await db.selectFrom('sync.cursors').select('position').where('flow', '=', flow).executeTakeFirst();
  return row?.position as Cursor | undefined;
}

/** Moves the cursor forward; one that is already further on stays, for two runs may end in either order. */
export async function advanceCursor(db: Db, flow: Flow, cursor: Cursor): Promise<void> {
  await sql`
    insert into sync.cursors as kept (flow, position)
    values (${flow}, ${JSON.stringify(cursor)}::jsonb)
    on conflict (flow) do update set position = excluded.position, updated_at = now()
    where ((kept.position ->> 'at')::timestamptz, coalesce(kept.position ->> 'code', '') collate "C")
        < ((excluded.position ->> 'at')::timestamptz, coalesce(excluded.position ->> 'code', '') collate "C")
  `.execute(db);
}
