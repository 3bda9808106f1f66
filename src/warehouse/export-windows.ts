import { sql } from 'kysely';
import { isoOf, type Span, secondOf } from '../span.ts';
import type { Db } from './index.ts';
import type { Axis } from './schema.ts';

export type ExportedWindow = {
  runId: string;
  axis: Axis;
  span: Span;
  pages: number;
  reviews: number;
  requests: number;
  startedAt: Date;
  finishedAt: Date;
};

/** Enters a window into the coverage ledger; belongs into the transaction that lands its rows. */
export async function recordWindow(trx: Db, window: ExportedWindow): Promise<void> {
  await trx
    .insertInto('sync.export_windows')
    .values({
      run_id: window.runId,
      axis: window.axis,
      start_at: new Date(isoOf(window.span.start)),
      end_at: new Date(isoOf(window.span.end)),
      pages: window.pages,
      reviews: window.reviews,
      requests: window.requests,
      started_at: window.startedAt,
      finished_at: window.finishedAt,
    })
    .execute();
}

/**
 * The spans of the axis that were read completely, joined where they touch.
 *
 * @param since only windows whose reading began at or after this moment count; without it, all.
 */
export async function coveredSpans(db: Db, axis: Axis, since?: Date): Promise<Span[]> {
  const { rows } = await sql<{ start_at: Date; end_at: Date }>`
    select lower(span) as start_at, upper(span) as end_at
    from (
      select unnest(range_agg(tstzrange(start_at, end_at, '[)'))) as span
      from sync.export_windows
      where axis = ${axis} and end_at > start_at and started_at >= ${since ?? new Date(0)}
    ) as spans
    order by 1`.execute(db);
  return rows.map((row) => ({ start: secondOf(row.start_at), end: secondOf(row.end_at) }));
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
