import { sql } from 'kysely';
import { isoOf, type Span, secondOf } from '../../base/time/span.ts';
import { type Db, listOf, rowOf, rowsOf, valuesOf, write } from '../index.ts';

/** The date of reviews that a span is about. */
export const axes = ['created', 'updated'] as const;
export type Axis = (typeof axes)[number];

/**
 * The spans of the axis that were read completely, in ascending order. Adjacent spans are joined.
 *
 * @param by only spans of this run, of runs of this job, or with a reading that began at or after `since`.
 */
export async function coveredSpans(
  db: Db,
  axis: Axis,
  by: { since?: Date; runId?: string; job?: string } = {},
): Promise<Span[]> {
  const { since, runId, job } = by;
  const rows = await rowsOf<{ start_at: Date; end_at: Date }>(db, 'covered_spans', axis, since, runId, job);
  return rows.map((row) => ({ start: secondOf(row.start_at), end: secondOf(row.end_at) }));
}

/** A proven span, and what its reading found. */
export type Entry = {
  runId: string;
  axis: Axis;
  span: Span;
  pages: number;
  reviews: number;
  requests: number;
  /** By this machine's clock. If it is ahead, it counts as now: a gap found later must not count as read since. */
  startedAt: Date;
  /** Reviews in the warehouse, dated within the span, that the service did not show. */
  absent: readonly number[];
};

/**
 * Enters a proven span into the ledger, in one transaction with the reviews found absent and the open gaps that it
 * closes. If a process dies, either all of it is stored or the span is read again. Without absent reviews and gaps, it
 * is one statement. A gap that another process opens at the same time stays open, and is read again.
 */
export async function enterSpan(db: Db, entry: Entry): Promise<void> {
  const { runId, axis, span, pages, reviews, requests, startedAt, absent } = entry;
  const start = isoOf(span.start);
  const end = isoOf(span.end);
  const enter = (at: Db, when = sql`true`) =>
    write(at)`
      insert into sync.export_windows
        (run_id, axis, start_at, end_at, pages, reviews, requests, started_at, finished_at)
      select ${runId}, ${axis}, ${start}::timestamptz, ${end}::timestamptz, ${pages}::integer, ${reviews}::integer,
        ${requests}::integer, least(${startedAt}::timestamptz, clock_timestamp()), clock_timestamp()
      where ${when}`;
  const hasNoGap = sql`
    not exists (select from sync.open_gaps where axis = ${axis} and start_at < ${end} and end_at > ${start})`;
  if (absent.length === 0 && (await enter(db, hasNoGap)) > 0) return;
  await db.transaction().execute(async (trx) => {
    await write(trx)`
      insert into sync.absent_reviews (review_id, run_id) select unnest(${absent}::bigint[]), ${runId}
      on conflict (review_id) do nothing`;
    await enter(trx);
    // A separate statement, so that closeGaps sees what another span has left of a gap.
    await write(trx)`lock table sync.open_gaps in share row exclusive mode`;
    await closeGaps(trx, axis, span);
  });
}

/**
 * Why a span is open.
 *
 * - `refused`: the service refuses the requests (4xx).
 * - `failed`: the service fails on them (5xx, no response, malformed bodies), or the step of a run failed.
 * - `too-many`: the span has more reviews than any query can show.
 * - `unproven`: the list changed at each reading, or shows less than the service has.
 */
export type GapKind = 'refused' | 'failed' | 'too-many' | 'unproven';

/** A span that could not be read or proven; `reason` is a sentence. */
export type Gap = { span: Span; kind: GapKind; reason: string };

export type OpenGap = Gap & {
  axis: Axis;
  attempts: number;
  firstSeenAt: Date;
  lastTriedAt: Date;
};

/** Enters a gap. It absorbs gaps within it, and keeps their record of earlier attempts. */
export const openGap = (db: Db, axis: Axis, { span, kind, reason }: Gap) =>
  rowsOf(db, 'open_gap', axis, isoOf(span.start), isoOf(span.end), kind, reason.slice(0, 1000));

/** Removes a proven span from all gaps of its axis. If overlapping gaps leave the same rest, one gap stays. */
export const closeGaps = (db: Db, axis: Axis, span: Span) =>
  rowsOf(db, 'close_gaps', axis, isoOf(span.start), isoOf(span.end));

/** All open gaps, the oldest date first. */
export async function openGaps(db: Db): Promise<OpenGap[]> {
  const rows = await listOf<Omit<OpenGap, 'span'> & { startAt: Date; endAt: Date }>(db)`
    select axis, start_at as "startAt", end_at as "endAt", kind, reason, attempts,
      first_seen_at as "firstSeenAt", last_tried_at as "lastTriedAt"
    from sync.open_gaps order by start_at, axis`;
  return rows.map(({ startAt, endAt, ...gap }) => ({
    ...gap,
    span: { start: secondOf(startAt), end: secondOf(endAt) },
  }));
}

/**
 * Closes a gap of the updated axis if all reviews created up to its end were read by creation since it was opened, by
 * any runs.
 */
export const closeGapsReadSince = (db: Db) => rowsOf(db, 'close_gaps_read_since');

/** The totals of the spans of a run. */
export const spanTotals = (db: Db, runId: string) => rowOf<Record<'spans' | 'requests' | 'reviews', number>>(db)`
  select count(*) as spans, coalesce(sum(requests), 0)::bigint as requests, coalesce(sum(reviews), 0)::bigint as reviews
  from sync.export_windows where run_id = ${runId}`;

/**
 * A calendar day `yyyy-mm-dd` in the zone of bi. `isHole`: it was not read completely, and is before the day of the
 * last start of a review run. A later unread day is no hole: the delay of the runs shows it.
 */
export type DayCoverage = { day: string; isRead: boolean; isHole: boolean; reviews: number };

/** bi.coverage_by_day and the number of reviews: the days between the bounds of the newest overview, in order. */
export const coverageByDay = (db: Db) => rowsOf<DayCoverage>(db, 'coverage_by_day');

/** First and last creation date of all reviews, from the newest capture of the overview. */
export const namedDates = (db: Db) =>
  valuesOf<Date>(db)`
    select unnest(array[first_review_created_at, last_review_created_at])
    from (select * from warehouse.review_overview order by captured_at desc limit 1) as newest`;

/**
 * Stores a capture of the service's overview (ISO 8601 with offset, or null while the service has no review). If this
 * machine's clock is ahead, the capture is dated now: no later capture may count as older.
 */
export const recordOverview = (
  db: Db,
  capture: { capturedAt: Date; first: string | null; last: string | null },
) => write(db)`
  insert into warehouse.review_overview (captured_at, first_review_created_at, last_review_created_at)
  values (least(${capture.capturedAt}::timestamptz, clock_timestamp()), ${capture.first}, ${capture.last})
  on conflict do nothing`;
