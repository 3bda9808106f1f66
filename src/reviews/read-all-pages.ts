import pLimit from 'p-limit';
import { NotFoundError, RefusedError } from '../review-api/index.ts';
import type { Second } from '../span.ts';
import { fetchPage, isOrdered, limitsOf, type Page, type PageDeps, type PageQuery } from './page.ts';

export type AllPages = {
  /** At least one, in the order of the list; then pages of earlier readings that hold what the last one lacks. */
  pages: [Page, ...Page[]];
  /** Ids in the order of the list, as the last reading had them. */
  ids: string[];
  /** Ids that any of the readings met. */
  all: Set<string>;
  /** Whether the service may hold more than the pages it lets one read. */
  overflow: boolean;
  /** Whether readings agreed; otherwise something shifted to the end. */
  settled: boolean;
};

/** Pages in flight at a time. */
const pagesAtATime = 4;
/** A list of thirty pages that comes in another order each time is met whole after about eleven. */
const readingsAtMost = 16;
/** One that overflows cannot be met whole, however often it is read. */
const overflowingAtMost = 3;

/**
 * Reads all pages that the service gives of a query (spec: "page: max 30"). Only what is dated before the span's end
 * counts: the end itself begins the next span.
 *
 * Pages shift while they are being read: what is deleted moves later records to pages already read, what is added moves
 * earlier ones. So the list is read from its last page to its first, then the other way, until two readings agree. A
 * list that comes in another order each time never agrees; it has been read when a further reading brings nothing new
 * and as many records were met as it has.
 *
 * @param options.once ends where the list overflows, since it will be read in narrower parts.
 */
export async function readAllPages(
  deps: PageDeps,
  query: PageQuery,
  options: { once?: boolean } = {},
): Promise<AllPages> {
  const met = new Map<string, Page>();
  let before: Set<string> | undefined;
  for (let number = 1; ; number += 1) {
    const pages = await readOnce(deps, query, number % 2 === 1);
    const ids = pages.flatMap((page) => page.ids);
    const counted = pages.flatMap((page) => page.ids.filter((_, index) => isWithin(page.seconds[index], query)));
    const these = new Set(counted);
    const overflow = overflows(deps, query, pages);
    const sizeBefore = met.size;
    for (const page of pages) for (const id of page.ids) met.set(id, page);

    // Without a last page told, its end was another answer, and much may have been deleted between the two.
    const isOneAnswer = pages[0].lastPage !== undefined || ids.length < limitsOf(deps).pageSize / 2;
    const isWhole = pages.length === 1 && isOneAnswer && !overflow;
    const agrees = before !== undefined && these.size === counted.length && isSame(before, these);
    const isMet = met.size === sizeBefore && met.size === ids.length;
    const settled = isWhole || agrees || isMet;
    const most = overflow ? overflowingAtMost : readingsAtMost;
    if (settled || number >= most || (overflow && options.once)) {
      const shown = new Set(ids);
      const older = [...met].filter(([id]) => !shown.has(id)).map(([, page]) => page);
      return { pages: [...pages, ...new Set(older)], ids, all: new Set(met.keys()), overflow, settled };
    }
    before = these.size === counted.length ? these : undefined;
  }
}

const isWithin = (second: Second | undefined, { span }: PageQuery) => second === undefined || second < span.end;

async function readOnce(deps: PageDeps, query: PageQuery, fromTheEnd: boolean): Promise<[Page, ...Page[]]> {
  const first = await fetchPage(deps, query, 1);
  if (first.lastPage === undefined) return readUntilEmpty(deps, query, first);
  const count = Math.min(Math.max(first.lastPage, 1), limitsOf(deps).pages);
  const numbers = Array.from({ length: count - 1 }, (_, index) => index + 2);
  const limit = pLimit(pagesAtATime);
  const order = fromTheEnd ? numbers.toReversed() : numbers;
  const rest = await Promise.all(order.map((number) => limit(() => fetchPage(deps, query, number))));
  return [first, ...(fromTheEnd ? rest.reverse() : rest)];
}

/**
 * A service that tells no last page: the list ends before the first page that is empty. A short one proves nothing, since
 * a service may take hidden reviews off the pages it has cut. One that repeats its last page for every page behind it is
 * known by three that are alike: two can be alike by chance where records of one date are shuffled.
 */
async function readUntilEmpty(deps: PageDeps, query: PageQuery, first: Page): Promise<[Page, ...Page[]]> {
  const pages: [Page, ...Page[]] = [first];
  for (let last = first; last.ids.length > 0 && pages.length < limitsOf(deps).pages; ) {
    const next = await pageBehind(deps, query, pages.length + 1, last);
    if (next === undefined || next.ids.length === 0) break;
    pages.push(next);
    last = next;
    const [here, ...before] = pages
      .slice(-3)
      .map((page) => page.ids.join())
      .reverse();
    if (before.length === 2 && before.every((ids) => ids === here)) return dropLastTwo(pages);
  }
  return pages;
}

/** The page after `last`; undefined where there is none: a service may refuse a page behind the end. */
async function pageBehind(deps: PageDeps, query: PageQuery, number: number, last: Page): Promise<Page | undefined> {
  try {
    return await fetchPage(deps, query, number);
  } catch (error) {
    const isShort = last.ids.length < limitsOf(deps).pageSize;
    if (error instanceof NotFoundError || (isShort && error instanceof RefusedError)) return undefined;
    throw error;
  }
}

const dropLastTwo = ([first, ...rest]: [Page, ...Page[]]): [Page, ...Page[]] => [first, ...rest.slice(0, -2)];

/**
 * A last page told as 30 may be the true one or a cap: only a page that is not full proves the end, or one that runs
 * beyond the span.
 */
function overflows(deps: PageDeps, query: PageQuery, pages: readonly Page[]): boolean {
  const seconds = pages.flatMap((page) => page.seconds);
  const last = seconds.findLast((second) => second !== undefined);
  if (!query.desc && last !== undefined && last >= query.span.end && isOrdered(seconds)) return false;
  return isCutOff(deps, pages);
}

function isCutOff(deps: PageDeps, pages: readonly Page[]): boolean {
  const { pages: most } = limitsOf(deps);
  const told = Math.max(...pages.map((page) => page.lastPage ?? 0));
  const [first, last] = [pages[0]?.ids.length ?? 0, pages.at(-1)?.ids.length ?? 0];
  return told > most || (pages.length >= most && last > 0 && last >= first);
}

const isSame = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
  one.size === other.size && [...one].every((id) => other.has(id));
