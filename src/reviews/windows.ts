import { localPeriod, type Second, type Span, shortestEnd, without } from '../base/time/span.ts';
import type { Axis } from '../warehouse/reviews/coverage.ts';
import { listLimits, listsOfAWindow, windowsAtATime } from './limits.ts';

/** A period of reviews to read. `axis`: the date that it is about. */
export type Window = Readonly<{ axis: Axis; span: Span }>;

/**
 * Cuts the parts of `wanted` that are not `covered` into windows of up to three lists of at most 44 days. The windows
 * of one part are equally long. With fewer windows than a process reads at a time, the process would idle.
 *
 * @param listsAtMost 1: no window is longer than the period of one request.
 */
export function planWindows(
  axis: Axis,
  wanted: Span,
  covered: readonly Span[] = [],
  listsAtMost: number = listsOfAWindow,
): Window[] {
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

export const middleOf = ({ start, end }: Span): Second => start + Math.floor((end - start) / 2);

export const halvesOf = (span: Span, zone: string): Span[] => cutSpan(span, middleOf(span), zone);

/**
 * Cuts the span in two, at the second, behind it, or beside the hour around it that daylight saving repeats. Returns no
 * span if it is the shortest that can be requested.
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
