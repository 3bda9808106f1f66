import { sql } from 'kysely';
import { type Db, isConflict, statement } from '../index.ts';

/**
 * Counts behind the views of bi, as of now: those of the reviews and orders that statements have touched since the last
 * count are made again from the rows (sql/warehouse/statements/recount.sql). The cost follows what changed. Waits while
 * another process counts.
 *
 * @param options.atMostEveryMs does nothing where the last count is younger.
 */
export async function recount(db: Db, options: { atMostEveryMs?: number } = {}): Promise<void> {
  const { atMostEveryMs = 0 } = options;
  const isDue = async (on: Db) => atMostEveryMs === 0 || !(await isYounger(on, atMostEveryMs));
  if (!(await isDue(db))) return;
  await inCountingTransaction(db, async (trx) => {
    // Another process may have counted while this one waited.
    if (!(await isDue(trx))) return false;
    await count(trx, 'touched');
    return true;
  });
}

/**
 * Makes all counts behind the views of bi again from the rows, in one transaction. Writers and readers go on meanwhile.
 *
 * @param first is done in the same transaction before.
 */
export async function recountAll(db: Db, first: (trx: Db) => Promise<unknown> = async () => {}): Promise<void> {
  await inCountingTransaction(db, async (trx) => {
    await first(trx);
    await count(trx, 'all');
    return true;
  });
}

async function isYounger(db: Db, thanMs: number): Promise<boolean> {
  const { rows } = await sql`
    select from sync.settings where counted_at > clock_timestamp() - ${thanMs} * interval '1 millisecond'`.execute(db);
  return rows.length > 0;
}

/** Attempts, where another process changes the row of settings in the same moment. */
const attempts = 5;

/**
 * One process counts at a time. `lock table` takes no snapshot: all statements show the moment after it.
 *
 * @param work returns whether it counted.
 */
async function inCountingTransaction(db: Db, work: (trx: Db) => Promise<boolean>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const begunAt = await countOnce(db, work);
      // Not in that transaction: it would fail where another process has changed this row meanwhile.
      if (begunAt === undefined) return;
      await sql`update sync.settings set counted_at = greatest(counted_at, ${begunAt}::timestamptz)`.execute(db);
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error;
    }
  }
}

/** @returns when the count began; undefined where `work` did not count. */
function countOnce(db: Db, work: (trx: Db) => Promise<boolean>): Promise<string | undefined> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      await sql`lock table sync.month_versions in share row exclusive mode`.execute(trx);
      if (!(await work(trx))) return undefined;
      const { rows } = await sql<{ now: string }>`select now()::text`.execute(trx);
      return rows[0]?.now;
    });
}

/**
 * More touches than this, and than a tenth of the reviews: after a backfill, counting everything is faster than finding
 * each key by index.
 */
const manyTouches = 50_000;

/** recount.sql with its filters, or without them. */
async function count(trx: Db, which: 'touched' | 'all'): Promise<void> {
  const { rows } = await sql<{ touches: number; reviews: number }>`
    select (select count(*) from sync.touches) as touches, reltuples::bigint as reviews
    from pg_class where oid = 'warehouse.reviews'::regclass`.execute(trx);
  const { touches, reviews } = rows[0] ?? { touches: 0, reviews: 0 };
  if (which === 'touched' && touches === 0) return;
  const text = await statement('recount');
  const isAll = which === 'all' || (touches > manyTouches && touches > reviews / 10);
  const statements = isAll ? text.replaceAll(/^.*?(;?) -- touched$/gm, '$1') : text.replaceAll(/^.* -- all$/gm, '');
  await sql.raw(statements).execute(trx);
}
