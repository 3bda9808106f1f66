import { sql } from 'kysely';
import { isoOf, type Span, secondOf } from '../span.ts';
import type { Db } from './index.ts';
import type { Axis } from './schema.ts';

/**
 * The spans of the axis that were read completely, joined where they touch. The last second of a span may go on in the
 * one after it.
 *
 * @param by.since only windows whose reading began at or after this moment count; without it, all.
 * @param by.runId only those of this run.
 * @param by.job only those of runs of this job.
 */
export async function coveredSpans(
  db: Db,
  axis: Axis,
  by: { since?: Date; runId?: string; job?: string } = {},
): Promise<Span[]> {
  const { rows } = await sql<{ start_at: Date; end_at: Date }>`
    select lower(span) as start_at, upper(span) as end_at
    from (
      select unnest(range_agg(tstzrange(start_at, end_at, '[)'))) as span
      from sync.export_windows
      where axis = ${axis} and end_at > start_at and started_at >= ${by.since ?? new Date(0)}
        and run_id = coalesce(${by.runId ?? null}, run_id)
        and (${by.job ?? null}::text is null or run_id in (select id from sync.runs where job = ${by.job ?? null}))
    ) as spans
    order by 1`.execute(db);
  return rows.map((row) => ({ start: secondOf(row.start_at), end: secondOf(row.end_at) }));
}

/** Takes back what the run entered within the span: it turned out not to be complete. */
export async function revokeWindows(db: Db, window: { runId: string; axis: Axis; span: Span }): Promise<void> {
  await db
    .deleteFrom('sync.export_windows')
    .where('run_id', '=', window.runId)
    .where('axis', '=', window.axis)
    .where('start_at', '>=', new Date(isoOf(window.span.start)))
    .where('end_at', '<=', new Date(isoOf(window.span.end)))
    .execute();
}

/** Takes back all that the run entered. */
export async function revokeRun(db: Db, runId: string): Promise<void> {
  await db.deleteFrom('sync.export_windows').where('run_id', '=', runId).execute();
}

/** What the windows of one run have brought so far. */
export async function windowTotals(
  db: Db,
  runId: string,
): Promise<{ windows: number; reviews: number; requests: number }> {
  return db
    .selectFrom('sync.export_windows')
    .where('run_id', '=', runId)
    .select((eb) => [
      eb.fn.countAll<number>().as('windows'),
      sql<number>`coalesce(sum(reviews), 0)::bigint`.as('reviews'),
      sql<number>`coalesce(sum(requests), 0)::bigint`.as('requests'),
    ])
    .executeTakeFirstOrThrow();
}
