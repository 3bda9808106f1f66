import type { Second } from '../../base/time/span.ts';
import { classify } from './classify-page.ts';
import {
  fetchFirstPage,
  fetchPage,
  isEndBeforeRefusal,
  isSorted,
  limitsOf,
  type Page,
  type PageQuery,
  pageBehind,
} from './list-page.ts';
import type { Reading } from './reading.ts';

/** The last page of a span, requested by its number while the list had that many pages. */
export type LastPage = { number: number; count: number };

/**
 * - `read`: a sorted list has shown everything of the reading's span. `isWhole`: also everything else that the requests asked for.
 * - `unsorted`: the span has to be read by page numbers.
 * - `outOfRange`: a date was shown that was not asked for.
 */
export type Walked =
  | { kind: 'read'; isWhole: boolean; last: LastPage | undefined }
  | { kind: 'unsorted' }
  | { kind: 'outOfRange'; second: Second };

/**
 * Reads a span from first page to first page: each request begins in the second that ended the page before. The reading leaves
 * to others the later pieces of a split, a second that fills a page by itself and what lies behind it, and what lies behind
 * one page less than the greatest page number, so that what was read can be proven.
 */
export async function walk(reading: Reading): Promise<Walked> {
  const { deps, axis } = reading;
  const limits = limitsOf(deps);
  let from = reading.span.start;
  /** Where the last page begins: the walk need not go on behind this second. */
  let until = reading.span.end;
  let last: LastPage | undefined;
  let outOfRange: Second | undefined;
  let hasSplit = false;
  const read = (isWhole: boolean): Walked =>
    outOfRange === undefined ? { kind: 'read', isWhole, last } : { kind: 'outOfRange', second: outOfRange };

  while (from < until) {
    const { end } = reading.span;
    const query: PageQuery = { axis, span: { start: from, end } };
    const isFirst = reading.pages === 0;
    const page = await fetchFirstPage(deps, query);
    await reading.take(page);
    const facts = {
      timeZone: deps.timeZone,
      mostPages: limits.pages,
      mayBeSplit: isFirst,
      fullPage: page.lastPage === undefined ? reading.fullPage : limits.pageSize,
    };
    let outcome = classify(page, query.span, facts);
    if (outcome.kind === 'short') {
      const isMoreBehind = await showsMore(reading, query, page);
      if (isMoreBehind === undefined) {
        // Something was deleted between the two requests: the walk goes on from the same second. A list that changes
        // at each request is read by page numbers, which gives up after some readings.
        if (reading.pages < limits.pages) continue;
        return { kind: 'unsorted' };
      }
      if (isMoreBehind) reading.fullPage = Math.min(reading.fullPage, reading.largest);
      outcome = classify(page, query.span, { ...facts, isMoreBehind });
    }
    switch (outcome.kind) {
      case 'end':
        return read(true);
      case 'unsorted':
        return outOfRange === undefined ? { kind: 'unsorted' } : read(false);
      case 'outOfRange':
        outOfRange ??= outcome.second;
        if (outcome.from === undefined) return read(false);
        from = outcome.from;
        break;
      case 'saturated': {
        // Dates that were not asked for would fill each second in turn.
        if (outOfRange !== undefined) return read(false);
        const full = { start: from, end: outcome.end };
        const behind = { start: outcome.end, end };
        reading.leave([
          { span: full, how: 'pages' },
          ...(behind.start < end ? [{ span: behind, how: 'walk' as const }] : []),
        ]);
        return read(false);
      }
      case 'split': {
        const ends = [...outcome.at.slice(1), end];
        reading.leave(outcome.at.map((start, index) => ({ span: { start, end: ends[index] ?? end }, how: 'walk' })));
        from = outcome.from;
        until = reading.span.end;
        hasSplit = true;
        break;
      }
      case 'continue': {
        from = outcome.from;
        if (isFirst || hasSplit) {
          // The piece that is left after a split begins a page before this one.
          const number = page.lastPage === undefined ? undefined : page.lastPage + (hasSplit ? 1 : 0);
          const found = await lastPage(reading, number);
          hasSplit = false;
          last = found;
          if (found?.begin !== undefined) until = Math.min(until, found.begin + 1);
        }
        break;
      }
      default:
        return outcome satisfies { kind: 'short' } as never;
    }
    if (reading.pages >= limits.pages - 1 && from < until) {
      reading.leave([{ span: { start: from, end: reading.span.end }, how: 'walk' }]);
      return read(false);
    }
  }
  return read(until < reading.span.end);
}

/**
 * The last page of the list, by its number: it is needed anyway, and shows at the same time how many records there are.
 * Undefined where the service names no last page, or one that may be a cap.
 */
async function lastPage(
  reading: Reading,
  number: number | undefined,
): Promise<(LastPage & { begin: Second | undefined }) | undefined> {
  const { deps, axis, span } = reading;
  if (number === undefined || number < 2 || number >= limitsOf(deps).pages) return undefined;
  const page = await pageBehind(deps, { axis, span }, number);
  if (page === undefined || page.ids.length === 0) return undefined;
  await reading.take(page);
  // Otherwise something was added or deleted just now, and this is no longer the last page.
  if (page.lastPage !== number || page.outOfRange !== undefined) return undefined;
  const begin = isSorted(page.seconds) ? page.seconds.find((second) => second !== undefined) : undefined;
  return { number, count: page.ids.length, begin };
}

/**
 * Whether the page behind this one shows a record that this one does not; undefined where the list changed meanwhile, so
 * that a record may have moved from that page to this one. A page less than half full is the end unless more than half a
 * page was deleted at this moment.
 */
async function showsMore({ deps }: Reading, query: PageQuery, page: Page): Promise<boolean | undefined> {
  const behind = await pageBehind(deps, query, 2);
  if (behind === undefined && !(await isEndBeforeRefusal(deps, query, [page]))) return true;
  const shown = new Set(page.ids);
  // Some services repeat their last page for every page behind it. Any other page is more, even if it shows what is known:
  // records of one date may come in another order each time.
  if (behind && behind.ids.length > 0 && behind.ids.join() !== page.ids.join()) return true;
  if (page.ids.length < limitsOf(deps).pageSize / 2) return false;
  const again = await fetchPage(deps, query, 1);
  return again.ids.every((id) => shown.has(id)) ? false : undefined;
}
