import type { Second, Span } from '../span.ts';

/** What the first page of a span showed. */
export type FirstPage = Readonly<{
  count: number;
  /** The last page as the service told it; undefined where it tells none. */
  lastPage: number | undefined;
  /** Whether the records came in the order of their date. */
  ordered: boolean;
  /** The second of the last record that has a date. */
  lastSecond: Second | undefined;
}>;

/**
 * What follows a first page. One answer shows the service at one moment, so all that stood before its last second is in
 * it, whatever shifts meanwhile: a span is read by first pages alone, each from the second that ended the one before.
 *
 * - `done`: the whole span was on it.
 * - `goOn`: everything before `from` was; the second itself may go on behind the page. Always later than the start.
 * - `dense`: its first second has to be read by other means, since it alone fills the page, or there is no other.
 * - `unordered`: the service does not list by date, so the page says nothing about what lies behind it.
 */
export type NextStep = { kind: 'done' } | { kind: 'goOn'; from: Second } | { kind: 'dense' } | { kind: 'unordered' };

/**
 * @param fullCount records of a full page: what was asked for, or less where the service was never seen to give as many.
 * @throws Error where the page contradicts itself.
 */
export function nextStep(span: Span, page: FirstPage, fullCount: number): NextStep {
  const { count, lastPage, lastSecond } = page;
  const told = lastPage !== undefined;
  if (count === 0 && told && lastPage > 1) {
    throw new Error(`the service gave an empty first page and told of ${lastPage} pages`);
  }
  // A service that tells no last page may give pages smaller than asked for, hidden reviews taken off them, say: the end
  // is only one that is far smaller.
  const more = count > 0 && (told ? count >= fullCount || lastPage > 1 : count >= fullCount / 2);
  if (!more) return { kind: 'done' };
  if (!page.ordered || lastSecond === undefined) return { kind: 'unordered' };
  const isShortest = span.end - span.start <= 1;
  if (isShortest || lastSecond <= span.start) return { kind: 'dense' };
  return { kind: 'goOn', from: Math.min(lastSecond, span.end) };
}
