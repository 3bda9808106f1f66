import { sql } from 'kysely';
import type { Db } from '../index.ts';
import type { Axis, DeadLetterKind } from '../schema.ts';

/** A span of reviews that a run read and proved. */
export type RunWindow = {
  axis: Axis;
  startAt: Date;
  endAt: Date;
  pages: number;
  reviews: number;
  requests: number;
  /** How long reading it took. */
  seconds: number;
};

/** The spans of one run that were read first, up to `limit`. */
export async function firstWindows(db: Db, runId: string, limit: number): Promise<RunWindow[]> {
  const { rows } = await sql<RunWindow>`
    select axis, start_at as "startAt", end_at as "endAt", pages, reviews, requests,
      extract(epoch from finished_at - started_at)::float8 as seconds
    from sync.export_windows
    where run_id = ${runId}
    order by started_at, id
    limit ${limit}`.execute(db);
  return rows;
}

export type DeadLettersOfRun = { kind: DeadLetterKind; reason: string; count: number; open: number };

/**
 * Dead letters of these kinds that failed first or last between two moments, by kind and reason, the most frequent
 * first. A dead letter does not name its run.
 */
export async function deadLettersBetween(
  db: Db,
  kinds: readonly DeadLetterKind[],
  from: Date,
  to: Date,
  limit: number,
): Promise<DeadLettersOfRun[]> {
  const { rows } = await sql<DeadLettersOfRun>`
    select kind, reason, count(*) as count, count(*) filter (where resolved_at is null) as open
    from sync.dead_letters
    where kind = any(${kinds})
      and (last_failed_at between ${from} and ${to} or first_failed_at between ${from} and ${to})
    group by kind, reason
    order by count(*) desc
    limit ${limit}`.execute(db);
  return rows;
}
