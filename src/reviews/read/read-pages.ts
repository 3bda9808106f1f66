import pLimit from 'p-limit';
import type { Second } from '../../base/time/span.ts';
import { RefusedError } from '../../review-api/index.ts';
import { pageAround } from './classify-page.ts';
import {
  fetchFirstPage,
  isSorted,
  type ListPage,
  limitsOf,
  type PageDeps,
  type PageQuery,
  pageBehind,
  pageIfAny,
} from './list-page.ts';

export type AllPages = {
  /** In the order of the list; then pages of earlier readings that hold what the last one lacks. */
  pages: ListPage[];
  /** Ids in the order of the list, as the last reading had them. */
  ids: string[];
  /** Ids of all readings. */
  all: Set<string>;
  /** Whether the service may hold more than the pages it lets one read. */
  overflow: boolean;
  /** Whether readings agreed; otherwise something shifted to the end. */
  settled: boolean;
};

/** Pages in flight at a time. */
const pagesAtATime = 4;
/** Readings of a list. 16: thirty pages in a new random order each time were complete after about eleven. */
const readingsAtMost = 16;
/** A list that overflows, or that lacks pages which its first page announces, is not read whole by more readings. */
const unsettledAtMost = 3;

/**
 * Reads all pages that the service gives of a query, by page number (docs/interface.md, "Limits": at most 30). Only
 * what is dated before the span's end counts: the end itself begins the next span.
 *
 * Pages shift while they are read: a deletion moves later records to pages already read, an addition moves earlier
 * ones. So the list is read from its last page to its first, then the other way, until two readings agree. A list that
 * comes in another order each time never agrees: it is complete when a further reading brings nothing new and the list
 * has as many records as were seen.
 *
 * @param options.once ends where the list overflows, since it will be read in narrower parts.
 */
export async function readPages(deps: PageDeps, query: PageQuery, options: { once?: boolean } = {}): Promise<AllPages> {
  const seen = new Map<string, ListPage>();
  let before: Set<string> | undefined;
  for (let number = 1; ; number += 1) {
    const reading = await readOnce(deps, query, number % 2 === 1).catch((error: unknown) => {
      // A service may refuse a page that its list lost just now: the list is read once more.
      if (number === 1 && error instanceof RefusedError) return undefined;
      throw error;
    });
    if (!reading) continue;
    const { pages, isShorter } = reading;
    const ids = pages.flatMap((page) => page.ids);
    const counted = pages.flatMap((page) => page.ids.filter((_, index) => isWithin(page.seconds[index], query)));
    const these = new Set(counted);
    const overflow = overflows(deps, query, reading);
    const sizeBefore = seen.size;
    for (const page of pages) for (const id of page.ids) seen.set(id, page);

    // A page that names itself the last one is one response and so whole.
    const isWhole = pages.length === 1 && pages[0]?.lastPage !== undefined && !overflow;
    const agrees = before !== undefined && these.size === counted.length && holdsSameIds(before, these);
    const isSeen = seen.size === sizeBefore && seen.size === ids.length;
    const settled = !isShorter && (isWhole || agrees || isSeen);
    const most = overflow || isShorter ? unsettledAtMost : readingsAtMost;
    if (settled || number >= most || (overflow && options.once)) {
      const shown = new Set(ids);
      const older = [...seen].filter(([id]) => !shown.has(id)).map(([, page]) => page);
      return { pages: [...pages, ...new Set(older)], ids, all: new Set(seen.keys()), overflow, settled };
    }
    before = !isShorter && these.size === counted.length ? these : undefined;
  }
}

const isWithin = (second: Second | undefined, { span }: PageQuery) => second === undefined || second < span.end;

type ListReading = {
  pages: ListPage[];
  /** A page that the first page announced was no longer there. */
  isShorter: boolean;
  /** False where the last page is full and the service refuses the next one. */
  isEnd: boolean;
};

async function readOnce(deps: PageDeps, query: PageQuery, fromTheEnd: boolean): Promise<ListReading> {
  const first = await fetchFirstPage(deps, query);
  if (first.lastPage === undefined) return readUntilEmpty(deps, query, first);
  const count = Math.min(Math.max(first.lastPage, 1), limitsOf(deps).pages);
  const numbers = Array.from({ length: count - 1 }, (_, index) => index + 2);
  const limit = pLimit(pagesAtATime);
  const order = fromTheEnd ? numbers.toReversed() : numbers;
  const found = await Promise.all(order.map((number) => limit(() => pageIfAny(deps, query, number))));
  const rest = found.filter((page) => page !== undefined);
  const pages = [first, ...(fromTheEnd ? rest.reverse() : rest)];
  return { pages, isShorter: rest.length < found.length, isEnd: true };
}

/**
 * A service that names no last page: the list ends before the first page that is empty, or that the service refuses. A
 * short page proves nothing, since a service may take hidden reviews off the pages it has cut. A service that repeats
 * its last page for every page behind it is recognized by three that are alike: two can be alike by chance where
 * records of one date are shuffled.
 */
async function readUntilEmpty(deps: PageDeps, query: PageQuery, first: ListPage): Promise<ListReading> {
  const pages = [first];
  const ended = { pages, isShorter: false, isEnd: true };
  while (first.ids.length > 0 && pages.length < limitsOf(deps).pages) {
    const next = await pageBehind(deps, query, pages.length + 1);
    if (next === undefined) return { ...ended, isEnd: await isEndBeforeRefusal(deps, query, pages) };
    if (next.ids.length === 0) break;
    pages.push(next);
    const lastThree = pages.slice(-3).map((page) => page.ids.join());
    if (lastThree.length === 3 && new Set(lastThree).size === 1) return { ...ended, pages: pages.slice(0, -2) };
  }
  return ended;
}

/**
 * A page of no more than this part of what was asked for is a short one: no service is known whose own pages are so
 * small.
 */
const shortPage = 0.1;

/**
 * Whether the list ends with these pages, where the service refuses the next one. A refusal behind a full page proves
 * nothing: the service may fail on a record of that page.
 */
export async function isEndBeforeRefusal(
  deps: PageDeps,
  query: PageQuery,
  pages: readonly ListPage[],
): Promise<boolean> {
  const limits = limitsOf(deps);
  const sizes = pages.map((page) => page.ids.length);
  const largest = Math.min(limits.pageSize, Math.max(...sizes));
  if ((sizes.at(-1) ?? 0) < largest || largest <= Math.max(1, limits.pageSize * shortPage)) return true;
  const count = sizes.reduce((sum, size) => sum + size, 0);
  const last = pageAround(count, largest, limits.pages);
  const page = last && (await pageBehind(deps, query, last.number, last.size));
  return last !== undefined && page?.ids.length === count - last.size * (last.number - 1);
}

/**
 * Whether more may lie behind the pages that can be read. A thirtieth page that shows anything is no end: its number
 * may be a cap, and it may be short because hidden reviews were taken off it. Only dates beyond the span prove the end.
 */
function overflows(deps: PageDeps, query: PageQuery, { pages, isEnd }: ListReading): boolean {
  const seconds = pages.flatMap((page) => page.seconds);
  const last = seconds.findLast((second) => second !== undefined);
  if (!query.desc && last !== undefined && last >= query.span.end && isSorted(seconds)) return false;
  const { pages: most } = limitsOf(deps);
  const named = Math.max(...pages.map((page) => page.lastPage ?? 0));
  return !isEnd || named > most || (pages.length >= most && (pages.at(-1)?.ids.length ?? 0) > 0);
}

const holdsSameIds = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
  one.size === other.size && [...one].every((id) => other.has(id));
