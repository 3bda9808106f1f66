import { sql } from 'kysely';
import { type Db, rowsOf, scalarOf, write } from '../index.ts';

/**
 * How far a flow has come. `at`: the newest change that was read. For orders it is the shop's text to the microsecond,
 * which a Date would cut. `readTo`: when a run began to look for changes.
 */
export type Cursor = Readonly<{ at: string; readTo: string }>;
export type Flow = 'orders' | 'reviews';

const columnOf = (flow: Flow) => sql.ref(`${flow}_cursor`);

export const readCursor = async (db: Db, flow: Flow) =>
  (await scalarOf<Cursor | null>(db)`select ${columnOf(flow)} from sync.settings`) ?? undefined;

/**
 * Moves `at` and `readTo` forward only: two runs may end in either order. An instant in the future is not kept: a
 * machine's clock was ahead.
 */
export async function advanceCursor(db: Db, flow: Flow, cursor: Cursor): Promise<void> {
  const kept = (key: keyof Cursor) => sql`${columnOf(flow)} ->> ${sql.lit(key)}`;
  const later = (key: keyof Cursor) => sql`
    case when (${kept(key)})::timestamptz between ${cursor[key]}::timestamptz and clock_timestamp() then ${kept(key)}
      else ${cursor[key]} end`;
  await write(db)`
    update sync.settings set ${columnOf(flow)} = jsonb_build_object('at', ${later('at')}, 'readTo', ${later('readTo')})`;
}

/** Records of a flow in the last 24 hours, in the 24 before, and so on for 15 days; null for a day without a run. */
export type DailyCounts = { flow: Flow; days: (number | null)[] };

/** Orders by what the runs pushed; reviews by their creation, as webhooks bring some before the runs do. */
export const dailyCounts = (db: Db, now: Date) => rowsOf<DailyCounts>(db, 'daily_counts', now);
