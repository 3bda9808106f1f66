import type { LimitFunction } from 'p-limit';
import { type Second, type Span, secondOf } from '../../base/time/span.ts';
import { justNow } from '../limits.ts';
import { limitsOf, pageSizeOf, type ReadDeps } from '../review-deps.ts';
import { middleOf } from '../windows.ts';
import { fetchPage, type ListPage, type Obstacle, type PageQuery } from './list-page.ts';

/**
 * A span to be read. `guess`: the page at which its list is expected to end. `last`: its last page, if another list has
 * shown it.
 */
export type Part = Readonly<{
  span: Span;
  guess?: number | undefined;
  last?: ListPage | undefined;
  giveUpAfterMs?: number | undefined;
}>;

/** Lands a page. Its reviews are correct whether or not their span is proven. */
export type Land = (page: ListPage) => Promise<unknown>;

/** One span during its reading: what it showed, and its pages on their way to the warehouse. */
export type Reader = ReturnType<typeof openReader>;

/** The result of reading a span. */
export type Proven = ReturnType<Reader['proven']>;

export function openReader(deps: ReadDeps, span: Span, land: Land) {
  const seen = new Map<string, Second | undefined>();
  const strays = new Set<string>();
  const products = new Set<number>();
  const landings: Promise<unknown>[] = [];
  let pages = 0;
  let requests = 0;
  let startedMs = Number.POSITIVE_INFINITY;

  async function ask(query: PageQuery, number: number, limit?: number): Promise<ListPage | Obstacle> {
    const page = await fetchPage(deps, query, number, limit);
    requests += 1;
    return page;
  }

  /** Lands a page. @returns a promise that resolves when it has landed; `landed` awaits it, too. */
  function take(page: ListPage): Promise<unknown> {
    pages += 1;
    startedMs = Math.min(startedMs, page.requestedAt.getTime());
    for (const [index, id] of page.ids.entries()) seen.set(id, page.seconds[index]);
    for (const id of page.strays) strays.add(id);
    for (const { product_id } of page.check.products) products.add(product_id);
    const landing = land(page);
    // `landed` throws the error; until then it must not count as unhandled.
    landing.catch(() => {});
    landings.push(landing);
    return landing;
  }

  /** A review written since the first request may be on no page yet, so no later second than this counts as read. */
  const readUntil = () => secondOf(new Date(startedMs)) - justNow;

  return {
    span,
    deps,
    /** The last page whose number is certain: page 30 may be a cap, with more behind it. */
    lastCertain: limitsOf(deps).pages - 1,
    ask,
    take,
    products,
    seenCount: () => seen.size,
    hasSeen: (id: string) => seen.has(id),
    /**
     * Whether the list shows another period than the request's. One record in a hundred, or one in the list of a day,
     * may have an odd date.
     */
    isOfOtherDates: () => strays.size > Math.max(seen.size / 100, span.end - span.start > 86_400 ? 0 : 1),
    /** Whether the record belongs to what this reading proves. A record without a usable date does. */
    isSettled: (second = Number.NEGATIVE_INFINITY) => second < Math.min(span.end, readUntil()),
    landed: () => Promise.all(landings),
    /**
     * What was read. `ids`: all ids that were shown, also outside the span. `reviews`: the number of different reviews
     * within the span, with the dates of the `first`, `middle` and `last`. `startedAt`: the time of the first request.
     */
    proven() {
      const dates = [...seen.values()].filter((second) => second !== undefined);
      const within = dates.filter((second) => second >= span.start && second < span.end).sort((a, b) => a - b);
      const reviews = within.length;
      return {
        span,
        ids: new Set(seen.keys()),
        reviews,
        first: within[0] ?? span.end,
        middle: within[Math.floor(reviews / 2)] ?? middleOf(span),
        last: within.at(-1) ?? span.end,
        pages,
        requests,
        startedAt: new Date(startedMs),
        readUntil: readUntil(),
      };
    },
  };
}

/**
 * Requests pages of a list and lands each as it comes. Each page keeps its slot until it has landed, so pages do not
 * pile up if the warehouse is slower than the service.
 *
 * @returns the pages, or the first obstacle, which ends the requests.
 */
export async function takeAll(
  { ask, take }: Reader,
  query: PageQuery,
  numbers: readonly number[],
  size: number,
  slots: LimitFunction,
): Promise<ListPage[] | Obstacle> {
  let stopped: Obstacle | { error: unknown } | undefined;
  const one = async (number: number): Promise<ListPage[]> => {
    if (stopped) return [];
    try {
      const page = await ask(query, number, size);
      if (page.kind === 'page') await take(page);
      else stopped ??= page;
      return page.kind === 'page' ? [page] : [];
    } catch (error) {
      stopped = { error };
      return [];
    }
  };
  const pages = await slots.map(numbers, one);
  if (stopped && 'error' in stopped) throw stopped.error;
  return stopped ?? pages.flat();
}

/**
 * How the reading of a list ends.
 *
 * - `whole`: every record that was in the list throughout was read.
 * - `too-long`: the list has more than its pages show, or no reading proves it. `page`: the last page that is certain,
 *   or the page at which to cut the list. `pages`: the number of pages that the service names.
 */
export type ListEnd =
  | { kind: 'whole' }
  | { kind: 'too-long'; page?: ListPage | undefined; pages?: number | undefined }
  | Obstacle;

/** Readings of a list that show no new record and prove nothing. A change between two readings costs one reading. */
const vainAtMost = 3;
/** Readings of a list. 16: thirty pages in a new order each time are complete after eleven. */
const readingsAtMost = 16;
/** Requests that look for the last page of a list. A list of unknown length takes two, or three if page 1 names it. */
const topLooksAtMost = 3;
/** A page of this many records is small for every service. */
const fewRecords = 10;

/**
 * Reads a list by page numbers (docs/interface.md, "Reviews"). The number `last` says where to look; the pages say what
 * is there.
 *
 * 1. `findTop`: finds the last page by the number that pages name, or page 1 if they name none or contradict it.
 * 2. `readPages`: reads the pages up to the last one side by side, and those behind it one by one, up to a page that
 *    shows nothing new. In descending order, the list must begin with records that were read. If the service shows at
 *    most half of the requested records on a page, the list is read once more in pages of that size.
 * 3. A list of one page is one response of one moment: it is whole if the descending list shows its end.
 * 4. `isCounted`: a list of full pages is whole if its last page, requested again, counts as many records as were read.
 * 5. Otherwise, the list is read again and again from page 1 on, one page after the other. It is whole if two successive
 *    readings show equally many records, and all readings with this number together show exactly that many different
 *    ones. The first of these readings counts only if it has one page, which is one moment. Each reading has smaller
 *    pages, and so other boundaries: the numbers differ if the service shows only some pages, or leaves out records
 *    between two.
 *
 * If no reading proves a list, it is read in parts.
 *
 * @param start.guess the page to look at first. `start.last`: the last page, if it is known.
 */
export async function readList(
  reader: Reader,
  query: PageQuery,
  start: Pick<Part, 'guess' | 'last'> = {},
): Promise<ListEnd> {
  const { lists } = reader.deps;
  let size = pageSizeOf(reader.deps);
  let top: Top | ListEnd = start.last
    ? { kind: 'top', number: reader.lastCertain, page: start.last, isLast: true }
    : await findTop(reader, query, size, start.guess ?? 1);
  let earlier: string[] | undefined;
  let together = new Set<string>();
  let vain = 0;
  for (let reading = 1; ; reading += 1) {
    if (top.kind !== 'top') return top;
    const before = reader.seenCount();
    const read = await readPages(reader, query, size, top);
    if (read.kind !== 'pages') return read;
    const { pages } = read;
    if (read.isCountable && (await isCounted(reader, query, size, pages))) return { kind: 'whole' };

    const largest = Math.max(0, ...pages.map(recordsOn));
    const areAlike = pages.length > 1 && pages.slice(0, -1).every((page) => recordsOn(page) === largest);
    const areSmall = areAlike && largest >= fewRecords && largest <= size / 2;
    if (areSmall) {
      // The service shows smaller pages than requested. From now on, ask for as many records as it shows.
      size = lists.pageSize = largest;
      top = await findTop(reader, query, size, top.number);
      earlier = undefined;
      continue;
    }
    if (read.lacksNewest) return { kind: 'too-long', page: pages.at(-1) };

    // Records that may still change count, too: without them, lists that are cut off in other places may count the same.
    const ids = pages.flatMap((page) => page.ids);
    // If the service names pages behind a full one and does not show them, equally many records are no proof.
    const isCutOff = read.isMoreNamed && largest >= fewRecords && recordsOn(lastOf(pages)) === largest;
    const isSteady = ids.length === earlier?.length && !isCutOff;
    if (!isSteady) together = new Set();
    // One page is one moment, so no record shifts between its pages.
    if (isSteady || pages.length === 1) for (const id of ids) together.add(id);
    if (isSteady && together.size === ids.length && earlier?.every((id) => together.has(id))) return { kind: 'whole' };
    earlier = ids;
    if (reader.seenCount() === before) vain += 1;
    const smaller = Math.min(size, largest) - 1;
    size = smaller > 0 ? smaller : Math.min(fewRecords, pageSizeOf(reader.deps));
    const isTooLong = ids.length > reader.lastCertain * size;
    if (isTooLong || vain === vainAtMost || reading === readingsAtMost)
      return { kind: 'too-long', page: middlePage(pages) };

    const first = await reader.ask(query, 1, size);
    top = first.kind === 'page' ? { kind: 'top', number: 1, page: first } : first;
  }
}

/** The page up to which pages are read side by side. `isLast`: no page is behind it. */
type Top = { kind: 'top'; number: number; page: ListPage; isLast?: boolean };

/** Looks for the last page by the numbers on pages. */
async function findTop(reader: Reader, query: PageQuery, size: number, guess: number): Promise<Top | ListEnd> {
  const { lastCertain } = reader;
  let number = Math.min(guess, lastCertain);
  let first: ListPage | undefined;
  let named: number | undefined;
  for (let look = 1; look <= topLooksAtMost; look += 1) {
    const page = await reader.ask(query, number, size);
    if (page.kind === 'page') named = page.lastPage ?? named;
    if (number === 1) {
      if (page.kind !== 'page') return page;
      first = page;
    }
    const last = Math.min(named ?? 1, lastCertain);
    if (last === number) {
      // A service may always name one number. Behind the end, it refuses a page, fails, shows none, or repeats a page.
      if (page.kind !== 'page' || page.ids.length === 0) break;
      if (named === undefined || named <= lastCertain) return { kind: 'top', number, page };
      if (recordsOn(page) < size) {
        // The service may show smaller pages than requested.
        const one: ListPage | Obstacle = first ?? (await reader.ask(query, 1, size));
        if (one.kind !== 'page') return one;
        first = one;
        if (recordsOn(page) < recordsOn(one) || page.ids.join() === one.ids.join()) break;
      }
      return { kind: 'too-long', page, pages: named };
    }
    number = last;
  }
  const page = first ?? (await reader.ask(query, 1, size));
  return page.kind === 'page' ? { kind: 'top', number: 1, page } : page;
}

/**
 * The pages of a reading that show records of their own. `isCountable`: all are full but the last one, which the service
 * names as the last. `isMoreNamed`: the service names more pages than show records. `lacksNewest`: in descending order,
 * the list begins with records that were not read.
 */
type Reading = Record<'isCountable' | 'isMoreNamed' | 'lacksNewest', boolean> & { kind: 'pages'; pages: ListPage[] };

/** One reading of the list: steps 2 and 3 of `readList`. */
async function readPages(reader: Reader, query: PageQuery, size: number, top: Top): Promise<Reading | ListEnd> {
  const { lastCertain } = reader;
  let landing = reader.take(top.page);
  const numbers = Array.from({ length: top.number - 1 }, (_, index) => top.number - 1 - index);
  const below = await takeAll(reader, query, numbers, size, reader.deps.lists.slots);
  if ('kind' in below) return below;
  await landing;
  const upToTop = [...below.toReversed(), top.page];
  const pages: ListPage[] = [];
  const shown = new Set(['']);
  /** Adds the page if it shows records, and not those of an earlier page. A service may repeat pages behind the end. */
  const addNew = (page: ListPage): boolean => {
    const key = page.ids.join();
    if (shown.has(key)) return false;
    shown.add(key);
    pages.push(page);
    return true;
  };
  for (const page of upToTop) addNew(page);
  const isCountable = (named: number) =>
    [top.number, named].every((number) => number > 1 && number === pages.length) &&
    pages.slice(0, -1).every((page) => recordsOn(page) === size);
  if (top.isLast)
    return { kind: 'pages', pages, isCountable: isCountable(top.number), isMoreNamed: false, lacksNewest: false };

  const newest = await readNewest(reader, query, size, pages.length === 0);
  // Pages of one record are always full.
  const isFull = () => size > 1 && pages.length > 0 && recordsOn(lastOf(pages)) >= size;
  const inOrder = () => newest.areRead() && isInOrder(pages, newest.seconds);
  // If the last page is full, the order is not enough: a service may reverse each page instead of the list.
  const isEndShown = () => (pages.length === 0 ? newest.areNone : inOrder() && !isFull());
  let named = Math.max(...upToTop.map((page) => page.lastPage ?? 0));
  const lastNamed = () => Math.min(named, lastCertain);
  let hasFailed = false;
  let isNamedNew = false;
  for (let number = top.number + 1; number <= lastNamed() || !isEndShown(); number += 1) {
    // If the end is shown, the pages up to the last named one are read only if that page shows new records. If no page
    // shows records, all may be hidden, so a number below the maximum counts.
    const isEnough = isEndShown() && (pages.length > 0 || named > lastCertain);
    if (isEnough && number < lastNamed() && !isNamedNew) {
      const last = await reader.ask(query, lastNamed(), size);
      isNamedNew = last.kind === 'page' && !shown.has(last.ids.join());
      if (!isNamedNew) break;
    }
    const next = await reader.ask(query, number, size);
    // A service may fail on a page behind the end. If a record of that page is at fault, the descending request fails.
    if (next.kind === 'failed' && !(newest.areShown && newest.areRead() && (inOrder() || !isFull()))) return next;
    if (next.kind === 'page' && addNew(next)) {
      if (number > lastCertain) return { kind: 'too-long', page: middlePage(pages) };
      await landing;
      landing = reader.take(next);
      named = Math.max(named, next.lastPage ?? 0);
    } else {
      hasFailed = next.kind === 'failed';
      if (hasFailed || number >= lastNamed()) break;
    }
  }
  if (!hasFailed && isEndShown() && pages.every((page) => page === upToTop[0])) return { kind: 'whole' };
  const lacksNewest = !newest.areRead();
  const isMoreNamed = named > pages.length;
  return { kind: 'pages', pages, isCountable: !lacksNewest && isCountable(named), isMoreNamed, lacksNewest };
}

/**
 * Requests the newest records, in descending order. If the pages show none, requests a few: no cache has this request,
 * and no limit of the service forbids it. `areRead`: whether pages have shown the records, also of an earlier reading.
 */
async function readNewest(reader: Reader, query: PageQuery, size: number, areFew: boolean) {
  const page = await reader.ask({ ...query, desc: true }, 1, areFew ? Math.min(fewRecords, size - 1) || 1 : size);
  const areShown = page.kind === 'page';
  const { ids, seconds } = areShown ? page : { ids: [], seconds: [] };
  const settled = ids.filter((_, index) => reader.isSettled(seconds[index]));
  // If all records are in the second behind the span, they still show whether the pages reach that far.
  const awaited = settled.length > 0 ? settled : ids;
  return { areShown, areNone: areShown && ids.length === 0, seconds, areRead: () => awaited.every(reader.hasSeen) };
}

/**
 * Requests the last page again. Nothing was deleted if it still has the records of its first reading: a deletion shifts
 * records to pages that were read already.
 */
async function isCounted(reader: Reader, query: PageQuery, size: number, pages: ListPage[]): Promise<boolean> {
  const number = pages.length;
  const again = await reader.ask(query, number, size);
  if (again.kind !== 'page' || (again.lastPage ?? number) !== number) return false;
  if (!again.ids.every(reader.hasSeen)) await reader.take(again);
  const shown = new Set([...pages, again].flatMap(({ ids }) => ids));
  const isStill = lastOf(pages).ids.every((id) => again.ids.includes(id));
  // The service counts hidden reviews, too.
  return isStill && shown.size >= (number - 1) * size + recordsOn(again);
}

/**
 * Whether the pages and the descending page are in order. The descending page must begin with the newest record of the
 * pages and cover at least two seconds: another record of its oldest second may be hidden behind it. A service that has
 * or obeys no order shows other seconds.
 */
function isInOrder(pages: readonly ListPage[], descending: ListPage['seconds']): boolean {
  const ascending = pages.flatMap(({ seconds }) => seconds.filter((second) => second !== undefined));
  const atEnd = descending.filter((second) => second !== undefined).reverse();
  const first = atEnd[0] ?? 0;
  const newest = ascending.at(-1) ?? 0;
  return first < newest && newest <= (atEnd.at(-1) ?? 0) && isRising(ascending) && isRising(atEnd);
}

export const isRising = (seconds: readonly number[]) =>
  seconds.every((second, at) => second >= (seconds[at - 1] ?? second));

const lastOf = (pages: readonly ListPage[]) => pages.at(-1) as ListPage;

const middlePage = (pages: readonly ListPage[]) => pages[Math.floor(pages.length / 2)];

const recordsOn = (page: ListPage): number => new Set(page.ids).size;
