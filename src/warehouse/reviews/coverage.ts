import { sql } from 'kysely';
import { isoOf, type Span, secondOf } from '../../base/time/span.ts';
import { type Db, listOf, rowOf, rowsOf, valuesOf, write } from '../index.ts';

/** Which date of the reviews a span is over. */
export const axes = ['created', 'updated'] as const;
export type Axis = (typeof axes)[number];

/**
 * The spans of the axis that were read completely, in ascending order; spans that touch are joined.
 *
 * @param by.since only spans whose reading began at or after this moment count; without it, all.
 * @param by.runId only those of this run.
 * @param by.job only those of runs of this job.
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

/** A span that was proven, and what its reading found. */
export type Entry = {
  runId: string;
  axis: Axis;
  span: Span;
  pages: number;
  reviews: number;
  requests: number;
  /** By the clock of this machine. If that is ahead, it counts as now: what was found later must not count as read since. */
  startedAt: Date;
  /** Reviews that are here, dated within the span, and were not shown. */
  absent: readonly number[];
};

/**
 * Enters a proven span into the ledger, in one transaction with the reviews found absent and the open gaps that this
 * closes: whatever dies, either all of it is there or the span is read again. One statement does it if there are neither.
 * A gap that another process notes at that moment stays open, and is read again.
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
    // A statement of its own, so that closeGaps sees what another span has left of a gap.
    await write(trx)`lock table sync.open_gaps in share row exclusive mode`;
    await closeGaps(trx, axis, span);
  });
}

/**
 * Why a span is open.
 *
 * - `refused`: the service refuses the requests (4xx).
 * - `failed`: the service fails on them (5xx, no response, malformed bodies), or the step of a run failed.
 * - `too-many`: the service holds more reviews than any query can show.
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

/** Enters a gap. Gaps within it become part of it, and what they know of earlier attempts stays. */
export const openGap = (db: Db, axis: Axis, { span, kind, reason }: Gap) =>
  rowsOf(db, 'open_gap', axis, isoOf(span.start), isoOf(span.end), kind, reason.slice(0, 1000));

/** Takes a span that was proven out of all gaps of its axis. Gaps that overlap may leave the same rest: one stays. */
export const closeGaps = (db: Db, axis: Axis, span: Span) =>
  rowsOf(db, 'close_gaps', axis, isoOf(span.start), isoOf(span.end));

/** All of them, the oldest date first. */
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
 * Closes each gap of the updated axis of which every review was read by its creation date since the gap was opened, by
 * whatever runs.
 */
export const closeGapsReadSince = (db: Db) => rowsOf(db, 'close_gaps_read_since');

/** What the spans of a run have brought. */
export const spanTotals = (db: Db, runId: string) => rowOf<Record<'spans' | 'requests' | 'reviews', number>>(db)`
  select count(*) as spans, coalesce(sum(requests), 0)::bigint as requests, coalesce(sum(reviews), 0)::bigint as reviews
  from sync.export_windows where run_id = ${runId}`;

/**
 * A calendar day `yyyy-mm-dd` in the zone of bi. `isHole`: it was not read completely, and is before the day on which
 * the last run of reviews began. A later day that is not read yet is no hole: the delay of the runs shows it.
 */
export type DayCoverage = { day: string; isRead: boolean; isHole: boolean; reviews: number };

/** bi.coverage_by_day and the number of reviews: the days between the bounds of the newest overview, in order. */
export const coverageByDay = (db: Db) => rowsOf<DayCoverage>(db, 'coverage_by_day');

/** First and last creation of all reviews, as the newest capture of the overview says. */
export const namedDates = (db: Db) =>
  valuesOf<Date>(db)`
    select unnest(array[first_review_created_at, last_review_created_at])
    from (select * from warehouse.review_overview order by captured_at desc limit 1) as newest`;

/**
 * Stores a capture of the service's overview (ISO 8601 with offset, or null while the service has no review). If this
 * machine's clock is ahead, the capture is of now: no later one must count as older.
 */
export const recordOverview = (
  db: Db,
  capture: { capturedAt: Date; first: string | null; last: string | null },
) => write(db)`
  insert into warehouse.review_overview (captured_at, first_review_created_at, last_review_created_at)
  values (least(${capture.capturedAt}::timestamptz, clock_timestamp()), ${capture.first}, ${capture.last})
  on conflict do nothing`;
