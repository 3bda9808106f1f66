import { sql } from 'kysely';
import type pg from 'pg';
import { type Db, rowsOf, rowsOfText, statement } from '../index.ts';
import type { RunOutcome, RunReason } from '../schema.ts';

export type Run = {
  id: string;
  job: string;
  /** What a backfill is about: `backfill-reviews_2024-01-01_last`. The next one of the same key continues or replaces it. */
  key: string | null;
  trigger: 'schedule' | 'command';
  startedAt: Date;
  finishedAt: Date | null;
  outcome: RunOutcome | null;
  /** Why an incomplete run is incomplete; for people, `error` says it in full. */
  reason: RunReason | null;
  counts: Record<string, number>;
  error: string | null;
};

/**
 * Records that a run begins. After a crash the row exists already and keeps its start. The run of a command that has
 * ended stays ended: somebody stopped it before a worker began it. The id of a scheduled run is its moment, which comes
 * twice where a clock is set back: it begins once more.
 *
 * @returns false when a scheduled run of the same job has not ended: this one must not start.
 */
export async function beginRun(
  db: Db,
  run: Pick<Run, 'id' | 'job' | 'trigger' | 'startedAt'> & { key?: string | undefined },
): Promise<boolean> {
  try {
    await sql`
      insert into sync.runs as known (id, job, key, trigger, started_at)
      values (${run.id}, ${run.job}, ${run.key ?? null}, ${run.trigger}, ${run.startedAt})
      on conflict (id) do update set started_at = excluded.started_at,
        finished_at = null, outcome = null, reason = null, error = null, counts = '{}'
      where known.finished_at is not null and known.trigger = 'schedule'`.execute(db);
    return true;
  } catch (error) {
    const { constraint } = error as pg.DatabaseError;
    if (constraint === 'runs_one_scheduled_at_a_time') return false;
    throw error;
  }
}

export type RunEnd = {
  finishedAt: Date;
  outcome: RunOutcome;
  counts?: Record<string, number>;
  reason?: RunReason;
  error?: string;
};

/** Records how a run ended. Does nothing where it has ended already. */
export async function finishRun(db: Db, id: string, end: RunEnd): Promise<void> {
  const { finishedAt, outcome, counts = {}, reason = null, error = null } = end;
  await sql`
    update sync.runs set finished_at = ${finishedAt}, outcome = ${outcome}, counts = ${JSON.stringify(counts)}::jsonb,
      reason = ${reason}, error = ${error}
    where id = ${id} and finished_at is null`.execute(db);
}

/** How a run ended; undefined where it has not. */
export async function endOfRun(
  db: Db,
  id: string,
): Promise<Pick<Run, 'outcome' | 'counts' | 'reason' | 'error'> | undefined> {
  const { rows } = await sql<Run>`
    select outcome, counts, reason, error from sync.runs where id = ${id} and finished_at is not null`.execute(db);
  return rows[0];
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
  const since = new Date(now.getTime() - continuedWithinMs);
  const [run] = await rowsOf<{ since: Date | null }>(db, 'unfinished_since', key, since);
  return run?.since ?? undefined;
}

/** The columns of a Run. */
const columns = `
  id, job, key, trigger, started_at as "startedAt", finished_at as "finishedAt", outcome, reason, counts, error`;

const runsOf = async (db: Db, name: string, ...parameters: unknown[]) =>
  rowsOfText<Run>(db, (await statement(name)).replaceAll('@run_columns', columns), parameters);

/** Runs that have not ended, the oldest first: running, or lost by the queue. */
export async function openRuns(db: Db): Promise<Run[]> {
  const { rows } =
    await sql<Run>`select ${sql.raw(columns)} from sync.runs where finished_at is null order by started_at`.execute(db);
  return rows;
}

/** The newest runs of all jobs; running ones come first, however long ago they began. */
export const lastRuns = (db: Db, limit: number) => runsOf(db, 'last_runs', limit);

/**
 * The newest run of each job that has ended, however long ago. Without those that somebody stopped, which say nothing
 * about the state of the job, and those that began while a clock was hours ahead.
 */
export const newestEnded = (db: Db) => runsOf(db, 'newest_ended');
