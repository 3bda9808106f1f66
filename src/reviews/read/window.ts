import { type Second, type Span, without } from '../../base/time/span.ts';
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
  /** "page: max 30" (docs/interface.md, "Reviews"). */
  pages: 30,
  /** "limit: max 100" (docs/interface.md, "Reviews"). */
  pageSize: 100,
} as const;

/**
 * Cuts the parts of `wanted` that are not `covered` into windows of at most `maxSeconds`, those of one part equally
 * long.
 */
export function planWindows(
  wanted: Span,
  covered: readonly Span[] = [],
  maxSeconds: Second = windowLimits.seconds,
): Span[] {
  return without(wanted, covered).flatMap(({ start, end }) => {
    const count = Math.ceil((end - start) / maxSeconds);
    const boundary = (index: number) => start + Math.floor(((end - start) * index) / count);
    return Array.from({ length: count }, (_, index) => ({ start: boundary(index), end: boundary(index + 1) }));
  });
}
