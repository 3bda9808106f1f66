import { sql } from 'kysely';
import { isoOf, type Span, secondOf } from '../../base/time/span.ts';
import type { Db } from '../index.ts';
import type { Axis } from '../schema.ts';

/**
 * Why a span is open.
 *
 * - `refused`: the service refuses the requests (4xx).
 * - `service-error`: the service fails on them (5xx, no response, malformed bodies).
 * - `too-many`: it holds more reviews than any query can show.
 * - `too-few`: the service shows so few reviews that no deletion is believed.
 * - `out-of-range`: the service shows reviews of other dates than asked for.
 * - `dead-letter`: a review of it cannot be written.
 * - `step-failed`: the step of a run failed before the span was read.
 */
export type GapKind =
  | 'refused'
  | 'service-error'
  | 'too-many'
  | 'too-few'
  | 'out-of-range'
  | 'dead-letter'
  | 'step-failed';

/** A span that could not be read or proven; `reason` is a sentence. */
export type Gap = { span: Span; kind: GapKind; reason: string };

export type OpenGap = Gap & {
  axis: Axis;
  attempts: number;
  firstSeenAt: Date;
  lastTriedAt: Date;
};

/** Enters a gap. Gaps within it become part of it, and what they know of earlier attempts stays. */
export async function openGap(db: Db, axis: Axis, gap: Gap): Promise<void> {
  const [start, end] = [isoOf(gap.span.start), isoOf(gap.span.end)];
  await sql`
    with within as (
      delete from sync.open_gaps where axis = ${axis} and start_at >= ${start} and end_at <= ${end}
        and (start_at > ${start} or end_at < ${end})
      returning attempts, first_seen_at
    )
    insert into sync.open_gaps as known (axis, start_at, end_at, kind, reason, attempts, first_seen_at)
    select ${axis}, ${start}::timestamptz, ${end}::timestamptz, ${gap.kind}, ${gap.reason.slice(0, 1000)},
      coalesce(max(attempts), 0) + 1, coalesce(min(first_seen_at), now())
    from within
    on conflict (axis, start_at, end_at) do update set
      kind = excluded.kind, reason = excluded.reason, attempts = known.attempts + 1, last_tried_at = now()`.execute(db);
}

/** Takes a span that was proven out of all gaps of its axis. */
export async function closeGaps(db: Db, axis: Axis, span: Span): Promise<void> {
  const [start, end] = [isoOf(span.start), isoOf(span.end)];
  await sql`
    with hit as (
      delete from sync.open_gaps where axis = ${axis} and start_at < ${end} and end_at > ${start} returning *
    )
    insert into sync.open_gaps (axis, start_at, end_at, kind, reason, attempts, first_seen_at, last_tried_at)
    select axis, lower(rest), upper(rest), kind, reason, attempts, first_seen_at, last_tried_at
    from hit
    cross join lateral unnest(
      tstzmultirange(tstzrange(start_at, end_at)) - tstzmultirange(tstzrange(${start}, ${end}))
    ) as rest`.execute(db);
}

/** All of them, the oldest date first. */
export async function openGaps(db: Db): Promise<OpenGap[]> {
  const { rows } = await sql<Omit<OpenGap, 'span'> & { startAt: Date; endAt: Date }>`
    select axis, start_at as "startAt", end_at as "endAt", kind, reason, attempts,
      first_seen_at as "firstSeenAt", last_tried_at as "lastTriedAt"
    from sync.open_gaps order by start_at, axis`.execute(db);
  return rows.map(({ startAt, endAt, ...gap }) => ({
    ...gap,
    span: { start: secondOf(startAt), end: secondOf(endAt) },
  }));
}

/**
 * Counts the gaps of dead letters as read once no review is a dead letter any more: each was landed, or discarded by a
 * person, and everything else of their pages landed when they were read.
 */
export async function settleDeadLetterGaps(db: Db): Promise<void> {
  await sql`
    with settled as (
      delete from sync.open_gaps where kind = 'dead-letter'
        and not exists (select from sync.dead_letters where kind = 'review' and resolved_at is null)
      returning *
    )
    insert into sync.export_windows
      (run_id, axis, start_at, end_at, pages, reviews, requests, started_at, finished_at)
    select 'settled', axis, start_at, end_at, 0, 0, 0, last_tried_at, clock_timestamp() from settled`.execute(db);
}

/** A gap is tried again after ten minutes, then after four times as long each time, at most after a day. */
const firstRetryMs = 10 * 60_000;
const longestRetryMs = 86_400_000;

/**
 * Those that are due for another attempt at `now`; without it, all. What a failed step left is due at once: the failure
 * may be over.
 */
export async function dueGaps(db: Db, now: Date | undefined): Promise<OpenGap[]> {
  const all = await openGaps(db);
  if (!now) return all;
  return all.filter(({ kind, attempts, lastTriedAt }) => {
    if (kind === 'step-failed') return true;
    const waitMs = Math.min(longestRetryMs, firstRetryMs * 4 ** (attempts - 1));
    return now.getTime() - lastTriedAt.getTime() >= waitMs;
  });
}

/**
 * Closes the gaps of the updated axis that were there at `readAt`: every review was read again by its creation date
 * since.
 */
export async function closeUpdatedGaps(db: Db, readAt: Date): Promise<void> {
  await sql`
    delete from sync.open_gaps where axis = 'updated' and first_seen_at < ${readAt} and end_at <= ${readAt}`.execute(
    db,
  );
}

/**
 * The sentence with which a run reports open gaps; undefined where no gap is open. Gaps of records that could not be
 * written are dead letters.
 */
export async function gapsProblem(db: Db): Promise<string | undefined> {
  const open = (await openGaps(db)).filter((gap) => gap.kind !== 'dead-letter');
  const [first] = open;
  if (!first) return undefined;
  const what = open.length === 1 ? '1 span of reviews is not read' : `${open.length} spans of reviews are not read`;
  return `${what}; see npx review-sync status. The first: ${first.reason}`;
}
