import { sql } from 'kysely';
import { type Db, isAny, isLockedOut, rowOf, statement, write } from '../index.ts';

/**
 * Recounts, from the rows, the counts behind the views of bi that statements have touched since the last count
 * (sql/warehouse/statements/recount.sql). Waits while another process counts.
 *
 * @param options.atMostEveryMs if the last count is younger, or another process counts, does nothing.
 */
export async function recount(db: Db, { atMostEveryMs = 0 } = {}): Promise<void> {
  if (atMostEveryMs === 0) return count(db, 'touched');
  const isYoung = await isAny(db)`
    select from sync.settings where counted_at > clock_timestamp() - ${atMostEveryMs} * interval '1 millisecond'`;
  if (isYoung) return;
  await count(db, 'touched', sql`nowait`).catch((error: unknown) => {
    if (!isLockedOut(error)) throw error;
  });
}

/** Recounts everything behind the views of bi. Writers and readers go on meanwhile. */
export const recountAll = (db: Db) => count(db, 'all');

/** With more touches than this, and than a tenth of the reviews, a full count is faster than one key at a time. */
const manyTouches = 50_000;

/**
 * One process counts at a time. `lock table` takes no snapshot, so all statements see the state after it.
 *
 * @param lockOption `nowait`: throws while another process counts.
 */
async function count(db: Db, which: 'touched' | 'all', lockOption = sql``): Promise<void> {
  if (which === 'touched') {
    const counted = await write(db)`
      update sync.settings set counted_at = greatest(counted_at, now())
      where counted_at is not null and not exists (select from sync.touches)`;
    if (counted > 0) return;
  }
  const begun = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      await write(trx)`lock table sync.product_counts in share row exclusive mode ${lockOption}`;
      type State = { now: string; zone: string; isFirst: boolean; touches: number; reviews: number };
      const { now, zone, isFirst, touches, reviews } = await rowOf<State>(trx)`
        select now()::text as now, time_zone as zone, counted_at is null as "isFirst", (select count(*) from sync.touches) as touches,
          (select reltuples::bigint from pg_class where oid = 'warehouse.reviews'::regclass) as reviews
        from sync.settings`;
      const isAll = which === 'all' || isFirst || (touches > manyTouches && touches > reviews / 10);
      if (isAll || touches > 0) {
        const text = await statement('recount');
        const ofAll = () => text.replaceAll(/^.*?(;?) -- touched$/gm, '$1').replaceAll('-- all: ', '');
        await sql.raw(isAll ? ofAll() : text).execute(trx);
      }
      return { now, zone };
    });
  // Not in the transaction of the count: it would fail if another process has changed this row meanwhile.
  await write(db)`
    update sync.settings set counted_at = greatest(counted_at, ${begun.now}::timestamptz)
    where time_zone = ${begun.zone}`;
}
