import type { Second, Span } from '../span.ts';

/** What reading a span showed. */
export type Reading = Readonly<{
  span: Span;
  /** Whether the service may hold more than the pages it lets one read. */
  overflow: boolean;
  /** Whether the records came in the order of their date. */
  ordered: boolean;
  /** The second of the last record read. */
  lastSecond: Second | undefined;
}>;

/**
 * What to do after a reading: `complete` is what of the span is now known completely (to be recorded), `rest` what is
 * still to be read. A rest is always shorter than the span was: no loop without progress.
 */
export type NextStep =
  | { kind: 'done'; complete: Span }
  | { kind: 'goOn'; complete: Span; rest: Span[] }
  | { kind: 'split'; rest: Span[] }
  | { kind: 'unreachable'; second: Second; rest: Span[] };

export function nextStep(reading: Reading): NextStep {
  const { span, lastSecond } = reading;
  if (!reading.overflow) return { kind: 'done', complete: span };
  if (reading.ordered && lastSecond !== undefined && lastSecond > span.start && lastSecond <= span.end) {
    // The last second may go on beyond the last page, so the rest begins with it.
    return {
      kind: 'goOn',
      complete: { start: span.start, end: lastSecond },
      rest: [{ start: lastSecond, end: span.end }],
    };
  }
  if (span.start === span.end) return { kind: 'unreachable', second: span.start, rest: [] };
  if (reading.ordered && lastSecond === span.start) return { kind: 'split', rest: apart(span) };
  return { kind: 'split', rest: halves(span) };
}

/** The first second by itself: it alone fills all the pages. */
function apart({ start, end }: Span): Span[] {
  return [
    { start, end: start },
    { start: start + 1, end },
  ];
}

function halves({ start, end }: Span): Span[] {
  // Halves of two seconds that share one of them would not be shorter.
  if (end - start === 1) return apart({ start, end });
  const middle = start + Math.floor((end - start) / 2);
  return [
    { start, end: middle },
    { start: middle, end },
  ];
}
