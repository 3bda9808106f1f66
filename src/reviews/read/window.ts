import { gaps, type Second, type Span } from '../../base/time/span.ts';
import type { Axis } from '../../warehouse/schema.ts';

export type { Axis };

/** A period of reviews to be read, over the date that `axis` names. */
export type Window = Readonly<{ axis: Axis; span: Span }>;

export const windowLimits = {
  /**
   * One day less than the 45 of the spec: 44 days from midnight to midnight touch 45 calendar days, so that the period
   * is allowed however the service counts its ends, and an hour of daylight saving does not matter either.
   */
  seconds: 44 * 86_400,
  /** "page: max 30" (spec, "List reviews"). */
  pages: 30,
  /** "limit: max 100" (spec, "List reviews"). */
  pageSize: 100,
} as const;

/** Cuts the parts of `wanted` that are not `covered` into windows of at most `maxSeconds`. */
export function planWindows(
  wanted: Span,
  covered: readonly Span[] = [],
  maxSeconds: Second = windowLimits.seconds,
): Span[] {
  return gaps(wanted, covered).flatMap((gap) => cut(gap, Math.ceil((gap.end - gap.start) / maxSeconds)));
}

/** So many pieces of equal length, to the second; fewer where the span has fewer seconds. */
export function cut(span: Span, pieces: number): Span[] {
  const count = Math.max(1, Math.min(pieces, span.end - span.start));
  const boundary = (index: number) => span.start + Math.floor(((span.end - span.start) * index) / count);
  return Array.from({ length: count }, (_, index) => ({ start: boundary(index), end: boundary(index + 1) }));
}
