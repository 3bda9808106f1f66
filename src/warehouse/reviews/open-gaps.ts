import { sql } from 'kysely';
import { isoOf, type Span, secondOf } from '../../base/time/span.ts';
import type { Db } from '../index.ts';
import type { Axis } from '../schema.ts';

/**
 * Why a span is open.
 *
 * - `refused`: the service refuses the requests (4xx).
 * - `failed`: the service fails on them (5xx, no response, malformed bodies), or the step of a run failed.
 * - `too-many`: the service holds more reviews than any query can show.
 * - `unproven`: the list changed at each reading.
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

/** Takes a span that was proven out of all gaps of its axis. Gaps that overlap may leave the same rest: one stays. */
export async function closeGaps(db: Db, axis: Axis, span: Span): Promise<void> {
  const [start, end] = [isoOf(span.start), isoOf(span.end)];
  await sql`
    with hit as (
      delete from sync.open_gaps where axis = ${axis} and start_at < ${end} and end_at > ${start} returning *
    )
    insert into sync.open_gaps (axis, start_at, end_at, kind, reason, attempts, first_seen_at, last_tried_at)
    select distinct on (lower(rest), upper(rest))
      axis, lower(rest), upper(rest), kind, reason, attempts, first_seen_at, last_tried_at
    from hit
    cross join lateral unnest(
      tstzmultirange(tstzrange(start_at, end_at)) - tstzmultirange(tstzrange(${start}, ${end}))
    ) as rest
    order by lower(rest), upper(rest), first_seen_at
    on conflict do nothing`.execute(db);
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
 * Closes each gap of the updated axis of which every review was read by its creation date since the gap was opened, by
 * whatever runs.
 */
export async function closeGapsReadSince(db: Db): Promise<void> {
  await sql`
    with oldest as (
      select least(
        (select min(created_at) from warehouse.reviews where deleted_at is null),
        (select first_review_created_at from warehouse.review_overview order by captured_at desc limit 1)
      ) as at
    )
    delete from sync.open_gaps g using oldest
    where g.axis = 'updated' and g.end_at <= g.first_seen_at and tstzmultirange(tstzrange(oldest.at, g.end_at)) <@ (
      select coalesce(range_agg(tstzrange(w.start_at, w.end_at)), '{}') from sync.export_windows w
      where w.axis = 'created' and w.started_at > g.first_seen_at and w.end_at > w.start_at
    )
      -- Without a review there is nothing that could have been read.
      and oldest.at < g.end_at`.execute(db);
}
