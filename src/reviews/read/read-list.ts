import type { Second } from '../../base/time/span.ts';
import {
  fetchFirstPage,
  fetchPage,
  isSorted,
  type ListPage,
  limitsOf,
  type PageQuery,
  pageIfAny,
} from './list-page.ts';
import type { Reading } from './reading.ts';

/**
 * How the reading of a list ends.
 *
 * - `whole`: everything that the list held throughout was read.
 * - `too-long`: it may have more pages than the service numbers. `page`: the last one that is no cap.
 * - `changing`: no reading reached the service's count, or agreed with the reading before.
 */
export type ListEnd =
  | { kind: 'whole' }
  | { kind: 'too-long'; page: ListPage; lastPage: number | undefined }
  | { kind: 'changing' };

/**
 * The page to begin with, where the last one is expected. `known`: records of the list that `page`, the same page of a
 * longer list, has shown just now.
 */
export type Start = Readonly<{ number: number; known?: readonly string[]; page?: ListPage }>;

/** Readings of a list. 16: thirty pages in a new random order each time are complete after about eleven. */
const readingsAtMost = 16;
/** The same where the list reaches into the present: its past is then read by itself. */
const liveReadingsAtMost = 2;

/** "page: max 30" may be a cap: more may lie behind page 30, but page 29 is the last where the service says so. */
export const lastCertainPage = ({ deps }: Reading): number => limitsOf(deps).pages - 1;

/**
 * Reads a list by page numbers, from the last page to the first (docs/interface.md, "Reviews"). What is deleted
 * meanwhile shifts other records to pages with smaller numbers, which are still to be read.
 *
 * 1. Find the last page. A list of one page is one response: it shows one moment.
 * 2. Read the pages down to page 1, then the last page again: its number and its length say how many records there are.
 * 3. The list is whole where at least as many different records were shown.
 * 4. Otherwise something was added to pages that were read already, or the count is of no use (hidden reviews, no
 *    `Link`). The list is read again, and is whole where two readings in turn show the same records, too.
 *
 * Every page lands, whatever comes of it.
 *
 * @throws RefusedError or NotFoundError where the service refuses a page that the list has.
 */
export async function readList(reading: Reading, query: PageQuery, start: Start = { number: 1 }): Promise<ListEnd> {
  const { deps } = reading;
  const seen = new Set(start.known);
  /** Records of a full page: no page but the last is shorter, unless hidden reviews were taken off it. */
  let size = 0;
  let before: readonly string[] | undefined;
  let { number } = start;
  let top: Top | undefined = start.known && { number };
  if (start.page) await reading.take(start.page);
  const isLive = () => query.span.end > reading.settledAt();
  for (let attempt = 1; attempt <= (isLive() ? liveReadingsAtMost : readingsAtMost); attempt += 1) {
    if (reading.outOfRange !== undefined) break;
    if (!top) {
      const found = await findTop(reading, query, number);
      if ('kind' in found) return found;
      before = found.before;
      top = found;
    }
    const pages = await readDown(reading, query, top.number - 1, top.page);
    if (top.number === 1 && (pages[0]?.lastPage === 1 || pages[0]?.ids.length === 0)) return { kind: 'whole' };
    const { page: end } = await pageIfAny(deps, query, top.number);
    if (end?.ids.some((id) => !seen.has(id))) await reading.take(end);

    const ids = pages.flatMap((page) => page.ids);
    for (const id of [...ids, ...(end?.ids ?? [])]) seen.add(id);
    size = Math.max(size, ...pages.map(recordsOn));
    const isEnd = end !== undefined && (await isLast(reading, query, { number: top.number, page: end, size }));
    if (isEnd) {
      if (seen.size >= (top.number - 1) * size + recordsOn(end)) return { kind: 'whole' };
      if (before && showsSame(before, ids)) return { kind: 'whole' };
    }
    number = end?.lastPage ?? 1;
    // The first reading of a part whose last page is known shows less than the whole list.
    before = top.page ? ids : undefined;
    top = isEnd ? { number: top.number, page: end } : undefined;
  }
  return { kind: 'changing' };
}

/**
 * Reads what a list that goes on behind the last certain page shows of the time before `end`: the list is in order, and
 * that page shows a record of `end` or later. Nothing is counted: two readings in turn must show the same.
 */
export async function readBefore(reading: Reading, query: PageQuery, end: Second): Promise<ListEnd> {
  let before: readonly string[] | undefined;
  for (let attempt = 1; attempt <= readingsAtMost; attempt += 1) {
    const pages = await readDown(reading, query, lastCertainPage(reading));
    const seconds = pages.toReversed().flatMap((page) => page.seconds);
    const isReached = seconds.some((second) => second !== undefined && second >= end);
    if (reading.outOfRange !== undefined || !isSorted(seconds) || !isReached) break;
    const isBefore = (second: Second | undefined) => second === undefined || second < end;
    const ids = pages.flatMap((page) => page.ids.filter((_, index) => isBefore(page.seconds[index])));
    if (before && showsSame(before, ids)) return { kind: 'whole' };
    before = ids;
  }
  return { kind: 'changing' };
}

/** The last page of a list; without `page`, its records are known. `before`: ids of a reading that found it. */
type Top = { number: number; page?: ListPage | undefined; before?: readonly string[] };

/** Lists that change while their last page is looked for are read as they are: the count tells. */
const looksAtMost = 5;

/** Finds the last page by the number that the service names, beginning with page `number`. */
async function findTop(reading: Reading, query: PageQuery, number: number): Promise<Top | ListEnd> {
  const { deps } = reading;
  const most = lastCertainPage(reading);
  let at = number;
  for (let look = 1; ; look += 1) {
    const { page, refusal } = await pageAt(reading, query, at);
    if (page && page.lastPage === undefined) {
      return readForward(reading, query, at === 1 ? page : await fetchFirstPage(deps, query));
    }
    const lastPage = Math.max(1, page?.lastPage ?? 1);
    if (lastPage > most) {
      const known = at === most ? page : await fetchPage(deps, query, most);
      if (known) return { kind: 'too-long', page: known, lastPage };
    }
    if (page && (lastPage === at || look >= looksAtMost)) return { number: at, page };
    if (refusal && look >= looksAtMost) throw refusal;
    at = lastPage;
  }
}

/** Page 1 is there in any case, and is requested twice where it is empty. */
async function pageAt({ deps }: Reading, query: PageQuery, number: number): ReturnType<typeof pageIfAny> {
  return number === 1 ? { page: await fetchFirstPage(deps, query) } : pageIfAny(deps, query, number);
}

/** Finds the last page of a list whose responses do not name it: the one behind which nothing is shown. */
async function readForward(reading: Reading, query: PageQuery, first: ListPage): Promise<Top | ListEnd> {
  const pages = [first];
  for (let page = first; ; ) {
    const number = pages.length;
    const size = Math.max(...pages.map(recordsOn));
    await reading.take(page);
    const next = await pageBehind(reading, query, { number, page, size });
    if (!next) return { number, page, before: pages.flatMap(({ ids }) => ids) };
    if (number === lastCertainPage(reading)) return { kind: 'too-long', page, lastPage: undefined };
    pages.push(next);
    page = next;
  }
}

/** A page of a list whose full pages have `size` records. */
type PageOf = { number: number; page: ListPage; size: number };

/** Whether this is the last page of its list, now that it was shown. */
async function isLast(reading: Reading, query: PageQuery, last: PageOf): Promise<boolean> {
  const { number, page } = last;
  if (page.ids.length === 0) return false;
  return page.lastPage === undefined ? !(await pageBehind(reading, query, last)) : page.lastPage === number;
}

/**
 * The next page, where the service names no last page; undefined where the list ends. A short page proves nothing,
 * since a service may take hidden reviews off the pages that it has cut. A page behind the end is empty, refused, or,
 * with some services, the last page again.
 *
 * @throws RefusedError or NotFoundError where the service may refuse a page because of a record on it.
 */
async function pageBehind(reading: Reading, query: PageQuery, last: PageOf): Promise<ListPage | undefined> {
  const { deps } = reading;
  const { number, page } = last;
  if (page.ids.length === 0) return undefined;
  const { page: next, refusal } = await pageIfAny(deps, query, number + 1);
  if (refusal) {
    const isShort = recordsOn(page) < last.size || last.size <= Math.max(1, limitsOf(deps).pageSize * shortPage);
    if (!isShort && !(await endsBehindFullPage(reading, query, last))) throw refusal;
    return undefined;
  }
  if (next.ids.length === 0) return undefined;
  if (!isRepeated(page, next) || number + 2 > limitsOf(deps).pages) return next;
  // Two pages may be alike by chance, where records of one date come in any order.
  const third = await pageIfAny(deps, query, number + 2);
  return third.page && isRepeated(page, third.page) ? undefined : next;
}

/** No service is known whose own pages are this part of what was asked for: a list without a larger page is short. */
const shortPage = 0.1;

const isRepeated = (page: ListPage, next: ListPage) => next.ids.join() === page.ids.join();

/**
 * Whether a list ends with this full page, behind which the service refuses the next one. Smaller pages are cut
 * elsewhere: a list of 300 records ends with 3 on page 4 of 99.
 */
async function endsBehindFullPage(reading: Reading, query: PageQuery, last: PageOf): Promise<boolean> {
  const { deps } = reading;
  const count = (last.number - 1) * last.size + recordsOn(last.page);
  for (let size = last.size - 1; size > 0; size -= 1) {
    const number = Math.ceil(count / size);
    const rest = count - size * (number - 1);
    if (rest === size || number > limitsOf(deps).pages) continue;
    const { page } = await pageIfAny(deps, query, number, size);
    return page !== undefined && page.ids.length > 0 && recordsOn(page) <= rest;
  }
  return false;
}

/**
 * Reads the pages from `number` down to 1. `top`: the page behind them, which was shown just now.
 *
 * @throws RefusedError or NotFoundError where the service refuses a page that its list has.
 */
async function readDown(reading: Reading, query: PageQuery, number: number, top?: ListPage): Promise<ListPage[]> {
  const pages: ListPage[] = top ? [top] : [];
  let refused: { number: number; refusal: Error } | undefined;
  if (top) await reading.take(top);
  for (let at = number; at >= 1; at -= 1) {
    const { page, refusal } = await pageAt(reading, query, at);
    if (refusal) {
      // The lowest number counts: the list of a page that is gone ends before it.
      refused = { number: at, refusal };
      continue;
    }
    await reading.take(page);
    pages.push(page);
  }
  const lastPage = pages.at(-1)?.lastPage;
  const isGone = refused !== undefined && lastPage !== undefined && lastPage < refused.number;
  if (refused && !isGone) throw refused.refusal;
  return pages;
}

const recordsOn = (page: ListPage): number => new Set(page.ids).size;

/** Whether two readings showed the same records, each of them once. */
function showsSame(one: readonly string[], other: readonly string[]): boolean {
  const ids = new Set(other);
  return (
    one.length === other.length &&
    ids.size === other.length &&
    new Set(one).size === ids.size &&
    one.every((id) => ids.has(id))
  );
}
