import { sql } from 'kysely';
import type { Db } from './index.ts';
import type { RunOutcome } from './schema.ts';

export type Run = {
  id: string;
  job: string;
  trigger: 'schedule' | 'command';
  startedAt: Date;
  finishedAt: Date | null;
  outcome: RunOutcome | null;
  counts: Record<string, number>;
  error: string | null;
};

/**
 * Begins a run; true also where it was begun already (its job is run again after a crash). One that ended incomplete
 * and is begun again keeps its start: it goes on where it stopped. What it did before is no longer told, as in its counts.
 *
 * @returns false when a scheduled run of the same job is still going, and this one must not start on top of it.
 */
export async function beginRun(db: Db, run: Pick<Run, 'id' | 'job' | 'trigger' | 'startedAt'>): Promise<boolean> {
  try {
    await sql`
      with told_anew as (
        delete from sync.run_parts
        where run_id = (select id from sync.runs where id = ${run.id} and finished_at is not null)
      )
      insert into sync.runs as known (id, job, trigger, started_at)
      values (${run.id}, ${run.job}, ${run.trigger}, ${run.startedAt})
      on conflict (id) do update set
        finished_at = null, outcome = null, error = null, counts = '{}',
        started_at = case when known.outcome = 'done' then excluded.started_at else known.started_at end
      where known.finished_at is not null
    `.execute(db);
    return true;
  } catch (error) {
    const isOneTooMany = error instanceof Error && 'constraint' in error && error.constraint === oneScheduled;
    if (isOneTooMany) return false;
    throw error;
  }
}
const oneScheduled = 'runs_one_scheduled_at_a_time';

export type RunEnd = { finishedAt: Date; outcome: RunOutcome; counts: Record<string, number>; error?: string };

export async function finishRun(db: Db, id: string, end: RunEnd): Promise<void> {
  await db
    .updateTable('sync.runs')
    .set({
      finished_at: end.finishedAt,
      outcome: end.outcome,
      counts: JSON.stringify(end.counts),
      error: end.error ?? null,
    })
    .where('id', '=', id)
    .execute();
}

/** Runs of the job that have not ended, the oldest first: going on, or left behind by a queue that lost them. */
export function openRuns(db: Db, job: string): Promise<Run[]> {
  return runs(db).where('job', '=', job).where('finished_at', 'is', null).orderBy('started_at').execute();
}

/** The newest runs, one list over all jobs; those that are going on first, however long ago they began. */
export function lastRuns(db: Db, limit: number): Promise<Run[]> {
  return runs(db).orderBy(sql`finished_at is null`, 'desc').orderBy('started_at', 'desc').limit(limit).execute();
}

/** The newest run of each job that has ended, however long ago. */
export function newestEnded(db: Db): Promise<Run[]> {
  return runs(db)
    .distinctOn('job')
    .where('finished_at', 'is not', null)
    .orderBy('job')
    .orderBy('started_at', 'desc')
    .execute();
}

export function findRun(db: Db, id: string): Promise<Run | undefined> {
  return runs(db).where('id', '=', id).executeTakeFirst();
}

const runs = (db: Db) =>
  db
    .selectFrom('sync.runs')
    .select(['id', 'job', 'trigger', 'started_at as startedAt', 'finished_at as finishedAt'])
    .select(['outcome', 'counts', 'error']);

/** How far behind a flow was, in seconds, just before a run of it ended well. */
export type LagPoint = { job: string; at: Date; seconds: number };

/** The lag of the incremental flows over time: from the start of one good run to the end of the next. */
export async function lagHistory(db: Db, since: Date): Promise<LagPoint[]> {
  const { rows } = await sql<LagPoint>`
    select job, finished_at as at, seconds
    from (
      select job, finished_at, extract(epoch from
        finished_at - lag(started_at) over (partition by job order by finished_at)
      )::float8 as seconds
      from sync.runs
      where job in ('sync-orders', 'sync-reviews') and outcome = 'done'
    ) as runs
    where seconds is not null and finished_at >= ${since}
    order by finished_at`.execute(db);
  return rows;
}
