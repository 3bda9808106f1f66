import { localPeriod, type Second, type Span, shortestEnd, without } from '../../base/time/span.ts';
import type { Axis } from '../../warehouse/reviews/coverage.ts';

export type { Axis };

/** A period of reviews to be read, over the date that `axis` names. */
export type Window = Readonly<{ axis: Axis; span: Span }>;

export const listLimits = {
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
 * Windows that a process reads at the same time. A window of few reviews is read by one request after the other, so
 * eight windows keep eight requests in flight. With windows of 20 pages, eight are twice as fast as four; 12 gain up to
 * 2 %.
 */
export const windowsAtATime = 8;

/**
 * Cuts the parts of `wanted` that are not `covered` into windows of up to three lists of at most 44 days, those of one
 * part equally long. A list that is too long for 29 pages leaves what lies behind them to the next list of its window,
 * which saves one request of sixty to a hundred. Fewer windows than a process reads at a time would leave it waiting.
 *
 * @param listsAtMost 1: no window is longer than a request may ask for.
 */
export function planWindows(axis: Axis, wanted: Span, covered: readonly Span[] = [], listsAtMost = 3): Window[] {
  return without(wanted, covered).flatMap(({ start, end }) => {
    const lists = Math.ceil((end - start) / listLimits.seconds);
    const each = Math.max(1, Math.min(listsAtMost, Math.floor(lists / windowsAtATime)));
    const boundary = (list: number) => start + Math.floor(((end - start) * Math.min(list, lists)) / lists);
    return Array.from({ length: Math.ceil(lists / each) }, (_, index) => ({
      axis,
      span: { start: boundary(index * each), end: boundary((index + 1) * each) },
    }));
  });
}

/**
 * Seconds before a request in which a review may have been written and not be listed yet, and for which a service may
 * refuse lists because its clock is behind ours.
 */
export const justNow = 60;

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
