import { localPeriod, type Second, type Span, shortestEnd, without } from '../../base/time/span.ts';
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

/** Seconds before a request in which a review may have been written and not be listed yet. */
export const justNow = 60;

/**
 * Seconds before now up to which a service shows lists that refuses dates ahead of its own clock: its clock may be
 * behind ours.
 */
export const clocksApart = 30;

export const middleOf = ({ start, end }: Span): Second => start + Math.floor((end - start) / 2);

export const halvesOf = (span: Span, zone: string): Span[] => cutSpan(span, middleOf(span), zone);

/**
 * The span in two, cut at the second, behind it, or beside the hour around it that daylight saving repeats; none if
 * it is the shortest span that can be asked for.
 */
export function cutSpan({ start, end }: Span, at: Second, zone: string): Span[] {
  // Clocks are set back at full and half hours.
  const repeated = Math.ceil(localPeriod({ start: at, end: at + 1 }, zone).first / halfHour) * halfHour;
  const cuts = [shortestEnd(at - 1, zone), Math.min(at, repeated), shortestEnd(at, zone)];
  const found = cuts.find((second) => second > start && second < end);
  return found === undefined
    ? []
    : [
        { start, end: found },
        { start: found, end },
      ];
}
const halfHour = 1800;
