import { sql } from 'kysely';
import type { Db } from '../index.ts';
import type { Axis } from '../schema.ts';

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
