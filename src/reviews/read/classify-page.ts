import { type Second, type Span, shortestEnd } from '../../base/time/span.ts';
import { isSorted, type ListPage } from './list-page.ts';

/**
 * What follows the first page of `[from, end)`. One response shows the service at one moment, so everything dated
 * before the page's last second is on it, whatever shifts meanwhile: a span is read by first pages alone.
 *
 * - `end`: the page holds everything up to the end.
 * - `continue`: everything before `from` was shown; that second itself may go on behind the page.
 * - `saturated`: the first second (or the hour that daylight saving repeats) fills the page by itself, up to `end`.
 * - `unsorted`: the list is not in the order of its dates, so the page says nothing about what lies behind it.
 */
export type PageOutcome =
  | { kind: 'end' }
  | { kind: 'continue'; from: Second }
  | { kind: 'saturated'; end: Second }
  | { kind: 'unsorted' };

/** @param isMore whether more lies behind the page. */
export function classify(
  { seconds }: Pick<ListPage, 'seconds'>,
  rest: Span,
  { isMore, timeZone }: { isMore: boolean; timeZone: string },
): PageOutcome {
  if (!isMore) return { kind: 'end' };
  const last = lastOf(seconds);
  if (last === undefined || !isSorted(seconds)) return { kind: 'unsorted' };
  if (last > rest.start) return { kind: 'continue', from: Math.min(last, rest.end) };
  return { kind: 'saturated', end: Math.min(shortestEnd(rest.start, timeZone), rest.end) };
}

/**
 * Whether more lies behind a first page; undefined where only the page behind it tells. A page that is not full proves
 * nothing: a service may take hidden reviews off the pages that it has cut.
 *
 * @param fullPage records of a full page: as many as were asked for, or fewer where the service's own pages are
 *   smaller.
 */
export function isMoreBehind({ seconds, lastPage }: Pick<ListPage, 'seconds' | 'lastPage'>, fullPage: number) {
  const isFull = seconds.length >= fullPage;
  if (lastPage !== undefined) return lastPage > 1 || isFull;
  return isFull || (seconds.length === 0 ? false : undefined);
}

export const lastOf = (seconds: ListPage['seconds']): Second | undefined =>
  seconds.findLast((second) => second !== undefined);

/** A page of a list by its number, and how many records such a page has. */
export type NumberedPage = { number: number; size: number };

/**
 * The page of a list that begins at or before record `count` and reaches farthest behind it. Of a list of `count`
 * records it is the last page, it is not full, and it shows at least one record: 300 records end with 3 on page 4
 * of 99. An empty page or a refused one would prove little, since the service may fail on a record of that page.
 *
 * @param fullPage records of a full page.
 * @returns undefined where each page that shows record `count` ends with it, or lies behind page `mostPages`.
 */
export function pageAround(count: number, fullPage: number, mostPages: number): NumberedPage | undefined {
  let found: NumberedPage | undefined;
  let farthest = count;
  for (let number = 1; number <= mostPages; number += 1) {
    const size = number === 1 ? fullPage : Math.min(fullPage, Math.floor((count - 1) / (number - 1)));
    if (size * number <= farthest) continue;
    farthest = size * number;
    found = { number, size };
  }
  return found;
}

/**
 * Whether a list of `count` records ends on this page.
 *
 * @param counted.count records that were seen, those of this page included.
 * @param counted.isCounted whether a record of this second is one of them; what follows them does not matter.
 */
export function endsOn(
  page: Pick<ListPage, 'seconds' | 'lastPage'>,
  { number, size }: NumberedPage,
  { count, isCounted }: { count: number; isCounted: (second: Second | undefined) => boolean },
): boolean {
  const shown = page.seconds.filter(isCounted).length;
  // The end of a list that is not sorted may show so many records by chance.
  if (!isSorted(page.seconds)) return false;
  // A full page does not end a list.
  if (shown >= size || shown !== count - size * (number - 1)) return false;
  return page.lastPage === undefined || page.lastPage <= number;
}
