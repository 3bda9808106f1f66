import type { Second } from '../../base/time/span.ts';
import { isSorted, lastPageOf, limitsOf, type Page, pageBehind } from './list-page.ts';
import type { Reading } from './reading.ts';
import type { Walked } from './walk.ts';

/**
 * Whether the service holds no more of the reading's span than was read. A list in another order than that of its dates can
 * show page after page that is in order by chance, with older records behind them; only the service's own count excludes it.
 *
 * 1. The last page is data and count at once, so mostly no further request is needed.
 * 2. Otherwise the page on which a list of so many records has to end is requested: it must show exactly the rest of them.
 *    Records that it shows for the first time (added just now) are taken and counted.
 *
 * @returns false where it is not proven: the span then has to be read by page numbers.
 */
export async function prove(reading: Reading, { isWhole, last }: Extract<Walked, { kind: 'read' }>): Promise<boolean> {
  const { deps, axis, span, seen, largest } = reading;
  const isCounted = (second: Second | undefined) => isWhole || second === undefined || second < span.end;
  const count = () => [...seen.values()].filter(isCounted).length;
  if (count() === 0 || (isWhole && reading.pages === 1)) return true;
  if (isWhole && last && (last.number - 1) * largest + last.count === seen.size) return true;

  const end = lastPageOf(count(), largest, limitsOf(deps).pages);
  const page = end && (await pageBehind(deps, { axis, span }, end.number, end.size));
  if (!page || page.outOfRange !== undefined) return false;
  if (page.ids.length > 0) await reading.take(page);
  return endsOn(page, { ...end, count: count(), isCounted, isWhole });
}

export type Expected = {
  /** The number of the page. */
  number: number;
  /** Records of a full page. */
  size: number;
  /** Records that were seen, those of this page included. */
  count: number;
  isCounted: (second: Second | undefined) => boolean;
  /** Whether the list holds nothing but what is counted. */
  isWhole: boolean;
};

/** Whether a list of `count` records ends on this page. */
export function endsOn(
  page: Pick<Page, 'ids' | 'seconds' | 'lastPage'>,
  { number, size, count, isCounted, isWhole }: Expected,
): boolean {
  const shown = page.seconds.filter(isCounted).length;
  // The end of a list that is not sorted may show so many records by chance.
  if (!isSorted(page.seconds)) return false;
  // A full page does not end a list.
  if (shown >= size || shown !== count - size * (number - 1)) return false;
  if (!isWhole || page.lastPage === undefined) return true;
  return page.lastPage <= Math.max(1, Math.ceil(count / size));
}
