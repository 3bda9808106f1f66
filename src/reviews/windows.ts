import { localPeriod, type Second, type Span, shortestEnd, without } from '../base/time/span.ts';
import type { Axis } from '../warehouse/reviews/coverage.ts';
import { listLimits } from './limits.ts';

/** A period of reviews to be read, over the date that `axis` names: no longer than a request may ask for. */
export type Window = Readonly<{ axis: Axis; span: Span }>;

/** Cuts what of `wanted` is not `covered` into windows of at most 44 days. Those of one part are equally long. */
export function planWindows(axis: Axis, wanted: Span, covered: readonly Span[] = []): Window[] {
  return without(wanted, covered).flatMap(({ start, end }) => {
    const length = Math.ceil((end - start) / listLimits.seconds);
    const boundary = (index: number) => start + Math.floor(((end - start) * index) / length);
    return Array.from({ length }, (_, index) => ({
      axis,
      span: { start: boundary(index), end: boundary(index + 1) },
    }));
  });
}

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
