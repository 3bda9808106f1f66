import { isoOf, type Span, secondOf } from '../../base/time/span.ts';
import { type Db, listOf, rowsOf } from '../index.ts';

/** Which date of the reviews a span is over. */
export type Axis = 'created' | 'updated';

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
