import { sql } from 'kysely';
import type { WaitSeconds } from '../../base/waits.ts';
import type { Db } from '../index.ts';
import type { RunOutcome, RunReason } from '../schema.ts';

export type Run = {
  id: string;
  job: string;
  /** What the run is about, where runs of the same key continue each other: `backfill-reviews_2024-01-01_last`. */
  key: string | null;
  trigger: 'schedule' | 'command';
  startedAt: Date;
  finishedAt: Date | null;
  outcome: RunOutcome | null;
  /** Why an incomplete run is incomplete; for people, `error` says it in full. */
  reason: RunReason | null;
  counts: Record<string, number>;
  error: string | null;
  /**
   * How long it has waited, see WaitKind; what steps that are going wait is added when they end. Null: not recorded.
   */
  waits: WaitSeconds | null;
};

type NewRun = Pick<Run, 'id' | 'job' | 'trigger' | 'startedAt'> & { key?: string | undefined };

/**
 * Records that a run begins. After a crash the row exists already and keeps its start.
 *
 * @returns false when a scheduled run of the same job has not ended: this one must not start.
 */
export async function beginRun(db: Db, run: NewRun): Promise<boolean> {
  try {
    await sql`
      insert into sync.runs as known (id, job, key, trigger, started_at, waits)
      values (${run.id}, ${run.job}, ${run.key ?? null}, ${run.trigger}, ${run.startedAt}, '{}')
      on conflict (id) do update set finished_at = null, outcome = null, reason = null, error = null, counts = '{}', waits = '{}'
      where known.finished_at is not null
    `.execute(db);
    return true;
  } catch (error) {
    const isSecond = error instanceof Error && 'constraint' in error && error.constraint === oneScheduled;
    if (isSecond) return false;
    throw error;
  }
}
const oneScheduled = 'runs_one_scheduled_at_a_time';

export type RunEnd = {
  finishedAt: Date;
  outcome: RunOutcome;
  counts: Record<string, number>;
  reason?: RunReason;
  error?: string;
};

export async function finishRun(db: Db, id: string, end: RunEnd): Promise<void> {
  await db
    .updateTable('sync.runs')
    .set({
      finished_at: end.finishedAt,
      outcome: end.outcome,
      counts: JSON.stringify(end.counts),
      reason: end.reason ?? null,
      error: end.error ?? null,
    })
    .where('id', '=', id)
    .execute();
}

/** Adds seconds to what a run has waited. */
export async function addWaits(db: Db, id: string, waits: WaitSeconds): Promise<void> {
  await sql`
    update sync.runs set waits = (
      select jsonb_object_agg(kind, seconds) from (
        select kind, sum(seconds::numeric) as seconds
        from (
          select * from jsonb_each_text(coalesce(waits, '{}')) union all select * from jsonb_each_text(${JSON.stringify(waits)}::jsonb)
        ) as all_of_them (kind, seconds)
        group by kind
      ) as sums
    )
    where id = ${id}`.execute(db);
}

/** A run continues an unfinished run of the same key up to this age: older reads may be outdated. */
const continuedWithinMs = 7 * 86_400_000;

/**
 * Since when runs of this key have done the same work. The next run of its key continues a backfill that was
 * interrupted or that had failed steps, and does not read again what was read since this moment.
 *
 * It is the start of the oldest run of the key within the last seven days that began after the newest complete one. A
 * run is complete when it ends `done`, or `incomplete` for another reason than failed steps: the next run then reads
 * everything again.
 *
 * @returns undefined when there is nothing to continue. The calling run counts too, once it has begun.
 */
export async function unfinishedSince(db: Db, key: string, now: Date): Promise<Date | undefined> {
  const { rows } = await sql<{ since: Date | null }>`
    select min(started_at) as since
    from sync.runs
    where key = ${key}
      and started_at >= ${new Date(now.getTime() - continuedWithinMs)}
      and started_at > coalesce((
        select max(started_at) from sync.runs
        where key = ${key}
          and (outcome = 'done' or (outcome = 'incomplete' and reason is distinct from 'steps-failed'))
      ), '-infinity')`.execute(db);
  return rows[0]?.since ?? undefined;
}

/** Records that a run failed. Does nothing where the run has ended already. */
export async function failRun(db: Db, id: string, end: { finishedAt: Date; error: string }): Promise<void> {
  await db
    .updateTable('sync.runs')
    .set({ finished_at: end.finishedAt, outcome: 'failed', counts: '{}', error: end.error })
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .execute();
}

/**
 * Records that a run was abandoned: its job is no longer in the queue. Does nothing where the run has ended already: it
 * may have ended between the read of its row and the look at its job.
 */
export async function abandonRun(db: Db, id: string, finishedAt: Date): Promise<void> {
  await db
    .updateTable('sync.runs')
    .set({ finished_at: finishedAt, outcome: 'abandoned' })
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .execute();
}

/** Runs that have not ended, the oldest first: running, or lost by the queue. */
export function openRuns(db: Db): Promise<Run[]> {
  return selectRuns(db).where('finished_at', 'is', null).orderBy('started_at').execute();
}

/** The newest runs of all jobs; running ones come first, however long ago they began. */
export async function lastRuns(db: Db, limit: number): Promise<Run[]> {
  // Each half reads `limit` rows of its own index. One sort over both would read every run.
  const newest = (ended: 'is' | 'is not') =>
    selectRuns(db).where('finished_at', ended, null).orderBy('started_at', 'desc').limit(limit);
  const { rows } = await sql<Run>`
    select * from (${newest('is')} union all ${newest('is not')}) as newest
    order by "finishedAt" is null desc, "startedAt" desc
    limit ${limit}`.execute(db);
  return rows;
}

/** The newest run of each job that has ended, however long ago. */
export async function newestEnded(db: Db): Promise<Run[]> {
  // `distinct on` would read every run.
  const { rows } = await sql<Run>`
    with recursive jobs (job) as (
      select min(job) from sync.runs
      union all
      select (select min(r.job) from sync.runs r where r.job > jobs.job) from jobs where jobs.job is not null
    )
    select newest.*
    from jobs
    cross join lateral ${selectRuns(db)
      .where('finished_at', 'is not', null)
      .where('job', '=', sql<string>`jobs.job`)
      .orderBy('started_at', 'desc')
      .limit(1)} as newest
    order by job`.execute(db);
  return rows;
}

export function findRun(db: Db, id: string): Promise<Run | undefined> {
  return selectRuns(db).where('id', '=', id).executeTakeFirst();
}

const selectRuns = (db: Db) =>
  db
    .selectFrom('sync.runs')
    .select(['id', 'job', 'key', 'trigger', 'started_at as startedAt', 'finished_at as finishedAt'])
    .select(['outcome', 'reason', 'counts', 'error', 'waits']);
