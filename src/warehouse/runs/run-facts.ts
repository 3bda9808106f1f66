import { sql } from 'kysely';
import type { Db } from '../index.ts';
import type { Axis } from '../schema.ts';

/** Spans of reviews that a run read and proved, summed up. */
export type RunWindows = {
  count: number;
  pages: number;
  reviews: number;
  requests: number;
  /** Seconds in which at least one of them was being read; null where there are none. */
  readingSeconds: number | null;
};

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

/** The spans of one run: their sums, and the ones that were read first, up to `limit`. */
export async function windowsOfRun(
  db: Db,
  runId: string,
  limit: number,
): Promise<{ sums: RunWindows; first: RunWindow[] }> {
  const { rows: sums } = await sql<RunWindows>`
    select count(*) as count, coalesce(sum(pages), 0)::bigint as pages, coalesce(sum(reviews), 0)::bigint as reviews,
      coalesce(sum(requests), 0)::bigint as requests,
      (select extract(epoch from sum(upper(span) - lower(span)))::float8
        from unnest(range_agg(tstzrange(started_at, finished_at, '[]'))) as span) as "readingSeconds"
    from sync.export_windows
    where run_id = ${runId}`.execute(db);
  const { rows: first } = await sql<RunWindow>`
    select axis, start_at as "startAt", end_at as "endAt", pages, reviews, requests,
      extract(epoch from finished_at - started_at)::float8 as seconds
    from sync.export_windows
    where run_id = ${runId}
    order by started_at, id
    limit ${limit}`.execute(db);
  return { sums: sums[0] ?? { count: 0, pages: 0, reviews: 0, requests: 0, readingSeconds: null }, first };
}
