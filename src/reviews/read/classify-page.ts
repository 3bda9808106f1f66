import { type Second, type Span, shortestEnd } from '../../base/time/span.ts';
import { isSorted, type Page } from './list-page.ts';

/** What classify looks at in the first page of a span. */
export type FirstPage = Pick<Page, 'seconds' | 'lastPage' | 'outOfRange'>;

export type Facts = Readonly<{
  timeZone: string;
  /** The greatest page number that the service allows. */
  mostPages: number;
  /** Records of a full page: as many as were asked for, or fewer where the service's own pages are smaller. */
  fullPage: number;
  /** Whether the page behind this one shows more; undefined until it was requested. */
  isMoreBehind?: boolean;
  /** Whether this page is the first of its span, which decides whether the span is split. */
  mayBeSplit: boolean;
}>;

/**
 * What follows the first page of `[from, end)`. One response shows the service at one moment, so everything dated before
 * the page's last second is on it, whatever shifts meanwhile: a span is read by first pages alone.
 *
 * - `end`: the page holds everything up to the end.
 * - `short`: it may be the end; the service names no last page, so the page behind it decides.
 * - `continue`: everything before `from` was shown; that second itself may go on behind the page.
 * - `split`: the same, and the rest is worth cutting at these seconds, to be read side by side and proven one by one.
 * - `saturated`: the first second (or the hour that daylight saving repeats) fills the page by itself, up to `end`.
 * - `unsorted`: the list is not in the order of its dates, so the page says nothing about what lies behind it.
 * - `outOfRange`: the page shows a date that was not asked for; `from` where reading can go on all the same.
 */
export type Outcome =
  | { kind: 'end' }
  | { kind: 'short' }
  | { kind: 'continue'; from: Second }
  | { kind: 'split'; from: Second; at: Second[] }
  | { kind: 'saturated'; end: Second }
  | { kind: 'unsorted' }
  | { kind: 'outOfRange'; second: Second; from: Second | undefined };

export function classify(page: FirstPage, rest: Span, facts: Facts): Outcome {
  const { seconds, outOfRange } = page;
  const lastSecond = seconds.findLast((second) => second !== undefined);
  const progress = lastSecond !== undefined && lastSecond > rest.start && isSorted(seconds);
  const from = progress ? Math.min(lastSecond, rest.end) : undefined;
  const isMore = isMoreBehind(page, facts);

  if (outOfRange !== undefined)
    return { kind: 'outOfRange', second: outOfRange, from: isMore === false ? undefined : from };
  if (isMore === undefined) return { kind: 'short' };
  if (!isMore) return { kind: 'end' };
  if (lastSecond === undefined || !isSorted(seconds)) return { kind: 'unsorted' };
  if (from === undefined)
    return { kind: 'saturated', end: Math.min(shortestEnd(rest.start, facts.timeZone), rest.end) };
  const at = facts.mayBeSplit ? splitAt(page, rest, from, facts) : [];
  return at.length > 0 ? { kind: 'split', from, at } : { kind: 'continue', from };
}

/** A page that is not full proves nothing: a service may take hidden reviews off the pages that it has cut. */
function isMoreBehind({ seconds, lastPage }: FirstPage, facts: Facts): boolean | undefined {
  if (lastPage !== undefined) return lastPage > 1 || seconds.length >= facts.fullPage;
  if (seconds.length === 0) return false;
  return facts.isMoreBehind ?? (seconds.length >= facts.fullPage || undefined);
}

/**
 * Pages of a piece. 27: fewer than the thirty that can be proven, so that a piece denser than the average is not split again.
 * 7,300 even reviews made three pieces and 76 requests for 73 pages. A million in 32 windows took 1.057 requests a page with 26.
 */
const pagesAPiece = 27;
/** Pieces of a span whose number of pages is only estimated. 8: the first page may be far denser than the rest. */
const estimatedPieces = 8;
/** Pieces of a span whose number of pages the service names. */
const piecesAtMost = 64;

/** Where to cut what lies behind `from`; nowhere where it seems to fit into one piece, or where its start is too thin to say. */
function splitAt({ lastPage }: FirstPage, { start, end }: Span, from: Second, facts: Facts): Second[] {
  if (lastPage !== undefined && lastPage < facts.mostPages) return [];
  const byDensity = (end - start) / (from - start);
  const isCounted = lastPage !== undefined && lastPage > facts.mostPages;
  const pages = isCounted ? Math.min(lastPage, byDensity) : byDensity;
  if (pages < facts.mostPages - 1) return [];
  const perPiece = Math.max(1, Math.min(pagesAPiece, facts.mostPages - 1));
  const pieces = Math.min(Math.ceil(pages / perPiece), isCounted ? piecesAtMost : estimatedPieces);
  const pieceSeconds = ((from - start) * pages) / Math.max(2, pieces);
  // A cut within an hour that daylight saving repeats would make both sides ask for all of that hour.
  const at = Array.from({ length: Math.max(2, pieces) - 1 }, (_, index) =>
    shortestEnd(start + Math.floor(pieceSeconds * (index + 1)) - 1, facts.timeZone),
  );
  return [...new Set(at)].filter((second) => second > from && second < end);
}
