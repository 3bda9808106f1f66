import { type Second, shortestEnd } from '../../base/time/span.ts';
import { classify, endsOn, isMoreBehind, lastOf, pageAround } from './classify-page.ts';
import {
  fetchFirstPage,
  fetchPage,
  isSorted,
  type ListPage,
  limitsOf,
  type PageQuery,
  pageBehind,
} from './list-page.ts';
import { isEndBeforeRefusal } from './read-pages.ts';
import type { End, Reading, Todo } from './reading.ts';

/**
 * How full a page is expected to be, to estimate where page 30 begins. 0.94: 2,726 records take 27 first pages, each a
 * record into the next, and the last.
 */
const cutSize = 0.94;

/**
 * Reads a span from first page to first page: each request begins in the second that ended the page before.
 *
 * 1. A span that may have more pages than the service numbers is cut at the date where page 30 begins. That page is the
 *    first of the rest, which another reading begins at once.
 * 2. The last page is requested by its number. It is data and count at once: the span is proven where the list has as
 *    many records as were seen. A span that is not proven is read again by page numbers.
 * 3. A second that fills a page by itself and what lies behind it are handed over to other readings, and so is the rest
 *    after 29 pages.
 *
 * @param first the page with which the span begins, where it is known.
 */
export async function walk(reading: Reading, first: Todo['first']): Promise<End> {
  const isProven = await readToEnd(reading, first);
  return isProven ? { kind: 'proven' } : { kind: 'reread', todos: [{ span: reading.span, how: 'pages' }] };
}

/** @returns whether the span is proven. */
async function readToEnd(reading: Reading, first: Todo['first']): Promise<boolean> {
  const { deps, axis } = reading;
  const mostPages = limitsOf(deps).pages;
  let from = reading.span.start;
  /**
   * Whether the list of the span holds nothing but what was shown: what follows the span begins with its last second.
   */
  let isWhole = true;
  /** Whether a second that fills a page follows the span. */
  let isCrowdBehind = false;
  if (first) {
    const { page, fullPage } = first;
    reading.fullPage = fullPage;
    await reading.take(page);
    from = lastOf(page.seconds) ?? from;
    await cutOff(reading, from, page.lastPage && page.lastPage - mostPages + 1);
  }
  while (from < reading.span.end) {
    const { end } = reading.span;
    const query: PageQuery = { axis, span: { start: from, end } };
    const page = await fetchFirstPage(deps, query);
    await reading.take(page);
    const isMore = await hasMoreBehind(reading, query, page);
    if (isMore === undefined) {
      // A list that changes at each request is read by page numbers, which gives up after some readings.
      if (reading.pages >= mostPages) return false;
      continue;
    }
    const outcome = classify(page, query.span, { isMore, timeZone: deps.timeZone });
    switch (outcome.kind) {
      case 'end':
        if (reading.pages === 1) return true;
        from = end;
        break;
      case 'unsorted':
        return false;
      case 'saturated':
        // Dates that were not asked for would fill each second in turn.
        if (reading.outOfRange !== undefined) return false;
        isWhole = false;
        isCrowdBehind = true;
        reading.handOver([{ span: { start: from, end: outcome.end }, how: 'pages' }]);
        if (outcome.end < end) reading.handOver([{ span: { start: outcome.end, end }, how: 'walk' }]);
        break;
      case 'continue':
        from = outcome.from;
        reading.fullPage = reading.largest;
        if (reading.pages === 1) await cutOff(reading, from, page.lastPage);
        if (page.lastPage === 2) {
          const last = await takeLast(reading, from, isWhole);
          if (last.isProven) return true;
          from = last.from;
        }
        break;
      default:
        return outcome satisfies never;
    }
    if (reading.pages >= mostPages - 1 && from < reading.span.end) {
      isWhole = false;
      reading.handOver([{ span: { start: from, end: reading.span.end }, how: 'walk' }]);
    }
  }
  if (isCrowdBehind && reading.span.end > reading.span.start + 1) return endsBeforeCrowd(reading);
  return (await takeLast(reading, reading.span.end, isWhole)).isProven;
}

/**
 * Whether the list of a span that a crowded second follows holds nothing but what was seen. A page full of that second
 * is in order in any list, so it does not prove that nothing older lies behind it. The list is requested up to the
 * second before, which leaves the crowded second out.
 */
async function endsBeforeCrowd(reading: Reading): Promise<boolean> {
  const { deps, axis, seen, fullPage } = reading;
  const { start, end } = reading.span;
  const query: PageQuery = { axis, span: { start, end: end - 1 } };
  const isCounted = (second: Second | undefined) => second === undefined || second < end;
  const count = [...seen.values()].filter(isCounted).length;
  const last = count === 0 ? { number: 1, size: fullPage } : pageAround(count, fullPage, limitsOf(deps).pages);
  const page = last && (await pageBehind(deps, query, last.number, last.size));
  if (!page || page.outOfRange !== undefined) return false;
  if (page.ids.length > 0) await reading.take(page);
  return endsOn(page, last, { count: [...seen.values()].filter(isCounted).length, isCounted });
}

/**
 * Hands the end of the span over to another reading, where it may hold more than can be proven at once.
 *
 * @param from where this reading goes on.
 * @param pages of the span, as the service names them: its greatest page number may be a cap.
 */
async function cutOff(reading: Reading, from: Second, pages: number | undefined): Promise<void> {
  const { deps, axis, span } = reading;
  const number = limitsOf(deps).pages;
  if (pages !== undefined && pages < number && pages > 1) return;
  const page = await pageBehind(deps, { axis, span }, number, Math.max(1, Math.floor(reading.fullPage * cutSize)));
  const begin = page?.seconds.find((second) => second !== undefined);
  if (!page || begin === undefined || !isSorted(page.seconds) || page.outOfRange !== undefined) return;
  // Everything from this second on to its last is on the page.
  const start = shortestEnd(begin, deps.timeZone);
  if (start <= from || start >= span.end) return;
  const isFirst = (lastOf(page.seconds) ?? 0) > start && !page.seconds.includes(undefined);
  reading.handOver([
    { span: { start, end: span.end }, how: 'walk', first: isFirst ? { page, fullPage: reading.fullPage } : undefined },
  ]);
}

/**
 * Takes the page by number that begins before `from` and reaches farthest, and checks whether the list ends there with
 * as many records as were seen. A list in another order than that of its dates can show page after page that is in
 * order by chance, with older records behind them; only the service's own count excludes it.
 *
 * @returns `from`: where reading goes on if the page does not end the list.
 */
async function takeLast(
  reading: Reading,
  from: Second,
  isWhole: boolean,
): Promise<{ isProven: boolean; from: Second }> {
  const { deps, axis, span, seen } = reading;
  const countOf = (isCounted: (second: Second | undefined) => boolean) => [...seen.values()].filter(isCounted).length;
  const isCounted = (second: Second | undefined) => isWhole || second === undefined || second < span.end;
  const isBefore = (second: Second | undefined) => second === undefined || second < from;
  // Records of the second that ends the span may fill a page of their own, which would begin too late.
  const count = countOf(isBefore) || (from < span.end ? 0 : countOf(isCounted));
  if (count === 0) return { isProven: from === span.end, from };
  const last = pageAround(count, reading.fullPage, limitsOf(deps).pages);
  // The first page again, before the span was read to its end, would show nothing new.
  const isKnown = last?.number === 1 && from < span.end;
  const page = last && !isKnown && (await pageBehind(deps, { axis, span }, last.number, last.size));
  if (!page || page.outOfRange !== undefined) return { isProven: false, from };
  if (page.ids.length > 0) await reading.take(page);
  const begin = page.seconds.find((second) => second !== undefined);
  // A page that begins later may leave out what was not yet seen, since something was deleted just now.
  if (begin === undefined || begin >= from || !isSorted(page.seconds)) return { isProven: false, from };
  const isProven = endsOn(page, last, { count: countOf(isCounted), isCounted });
  return { isProven, from: Math.max(from, Math.min(lastOf(page.seconds) ?? from, span.end)) };
}

/**
 * Whether more lies behind a first page; the page behind it decides where the service names no last page. That one may
 * show nothing because something of the first page was deleted after that was read: then the first page, read again,
 * shows something that was not on it, and the result is undefined.
 */
async function hasMoreBehind(
  { deps, fullPage }: Reading,
  query: PageQuery,
  page: ListPage,
): Promise<boolean | undefined> {
  const { pageSize } = limitsOf(deps);
  const isMore = isMoreBehind(page, page.lastPage === undefined ? fullPage : pageSize);
  if (isMore !== undefined) return isMore;
  const behind = await pageBehind(deps, query, 2);
  if (behind === undefined && !(await isEndBeforeRefusal(deps, query, [page]))) return true;
  // Some services repeat their last page for every page behind it. Any other page is more, even if it shows what is
  // known: records of one date may come in another order each time.
  if (behind && behind.ids.length > 0 && behind.ids.join() !== page.ids.join()) return true;
  if (page.ids.length < pageSize / 2) return false;
  const shown = new Set(page.ids);
  const again = await fetchPage(deps, query, 1);
  return again.ids.every((id) => shown.has(id)) ? false : undefined;
}
