import { type Span, without } from '../../base/time/span.ts';
import type { Axis } from '../../warehouse/reviews/coverage.ts';
import { listLimits, listsOfAWindow, windowsAtATime } from '../limits.ts';
import type { Window } from '../read/window.ts';

/**
 * Cuts the parts of `wanted` that are not `covered` into windows of up to three lists of at most 44 days, those of one
 * part equally long. Fewer windows than a process reads at a time would leave it waiting.
 *
 * @param listsAtMost 1: no window is longer than a request may ask for.
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
