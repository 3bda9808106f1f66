import { gaps, type Second, type Span } from '../span.ts';
import { windowLimits } from './window.ts';

/**
 * Cuts what of `wanted` is not `covered` into spans of at most `maxSeconds`. Neighbours share their boundary second:
 * two that only met there could lose its milliseconds.
 */
export function planWindows(
  wanted: Span,
  covered: readonly Span[] = [],
  maxSeconds: Second = windowLimits.seconds,
): Span[] {
  return gaps(wanted, covered).flatMap((gap) => cut(gap, maxSeconds));
}

/** Pieces of equal length rather than full ones and a rest: they take about the same time. */
export function cut(span: Span, maxSeconds: Second): Span[] {
  const pieces = Math.max(1, Math.ceil((span.end - span.start) / maxSeconds));
  const boundary = (index: number) => span.start + Math.floor(((span.end - span.start) * index) / pieces);
  return Array.from({ length: pieces }, (_, index) => ({ start: boundary(index), end: boundary(index + 1) }));
}
