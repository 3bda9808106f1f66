import pLimit, { type LimitFunction } from 'p-limit';
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
    readUntil,
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
const vainAtMost = 4;
/** Readings of a list. 16: thirty pages in a new order each time are complete after eleven. */
const attemptsAtMost = 16;
/** Looks for the last page of a list. An unchanged list takes three. */
const topLooksAtMost = 5;
/** A page of this many records is small for every service. */
const fewRecords = 10;

/**
 * Reads a list by page numbers (docs/interface.md, "Reviews"). The number `last` says where to look; the pages say what
 * is there.
 *
 * 1. `findTop`: finds the last page by the number that the service names, or page 1 if there is no number or the pages
 *    contradict it.
 * 2. `readFrom`: reads the pages below the last one, side by side.
 * 3. `readOn`: checks the end. In descending order, the list must begin with records that were just read. If other
 *    records come first, or the list has no order, the pages behind are read one by one, up to a page without new ones.
 * 4. If the list has one page, it is one response of one moment: its end proves it.
 * 5. If all pages but the last are full, the last one is read again. The list is whole if that page's number and length
 *    imply no more records than were shown, and the page still has the records of its first reading. Then nothing was
 *    deleted: a deletion shifts records to pages that were read already.
 * 6. Otherwise a record was added or deleted, or the count is useless (hidden reviews, no number, pages that are not
 *    full). The list is read again in smaller pages, one by one and downwards: deletions shift records to pages that
 *    are still to be read. It is whole by its count, or if two successive readings show the same records. Smaller pages
 *    have other boundaries, so the readings differ if the service shows only some pages, repeats a page, or leaves out
 *    records between two.
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
  const list: List = { pageSize: pageSizeOf(reader.deps), shown: new Set(), count: 0, isFirst: true };
  const { lastCertain: number } = reader;
  let known: Top | undefined = start.last && { kind: 'top', number, page: start.last, isNamed: true, isLast: true };
  let guess: Unproven['guess'] = start.guess ?? 1;
  let earlier: ListPage[] | undefined;
  let vain = 0;
  for (let attempt = 1; attempt <= attemptsAtMost && vain < vainAtMost; attempt += 1) {
    const before = reader.seenCount();
    const top: Top | ListEnd | Unproven = known ?? (await findTop(reader, query, list, guess));
    const end: ListEnd | Unproven = top.kind === 'top' ? await readFrom(reader, query, list, top) : top;
    if (reader.seenCount() === before) vain += 1;
    if (end.kind !== 'unproven') return end;
    if (end.pages && earlier && showsSame(earlier, end.pages)) return { kind: 'whole' };
    const largest = Math.min(list.pageSize, largestOf(end.pages ?? []));
    // Pages of one record, or none, cannot be smaller.
    if (end.pages) list.pageSize = largest > 1 ? largest - 1 : Math.min(fewRecords, pageSizeOf(reader.deps));
    list.isFirst = false;
    known = undefined;
    guess = end.guess;
    earlier = end.pages;
  }
  return { kind: 'too-long', page: earlier && middlePage(earlier) };
}

/** The page from which a list is read. `isNamed`: the service calls it the last. `isLast`: no page is behind it. */
type Top = { kind: 'top'; number: number; page: ListPage; isNamed: boolean; isLast?: boolean };

/**
 * What is known of a list over several readings. `pageSize`: records to ask for on a page. `shown`: records of all
 * readings since the list became shorter. `count`: its records in the last reading. `isFirst`: whether the list is read
 * for the first time. `named`: a short page that the service named as the last. It may repeat a page of the list, or
 * be a page far behind the first: the list is not whole without its records.
 */
type List = {
  pageSize: number;
  shown: Set<string>;
  count: number;
  isFirst: boolean;
  named?: ListPage | undefined;
};

/**
 * A reading that proves nothing by itself. `guess`: the page to look at first in the next reading; `none`: the
 * last-page numbers are useless, and the list is read upwards from page 1. `pages`: the pages of this reading;
 * undefined if the list became longer or shorter meanwhile, or the number of its last page is wrong.
 */
type Unproven = { kind: 'unproven'; guess: number | 'none'; pages?: ListPage[] };

const upwards: Unproven = { kind: 'unproven', guess: 'none' };

/**
 * Looks for the last page by the numbers on pages. If a page has no number, or is neither full nor the last, asks page
 * 1, too.
 */
async function findTop(
  reader: Reader,
  query: PageQuery,
  list: List,
  guess: Unproven['guess'],
): Promise<Top | ListEnd | Unproven> {
  const { lastCertain } = reader;
  const { pageSize } = list;
  let number = guess === 'none' ? 1 : Math.max(1, Math.min(lastCertain, guess));
  let first: ListPage | undefined;
  for (let look = 1; look <= topLooksAtMost; look += 1) {
    const page = await reader.ask(query, number, pageSize);
    // A service may fail on a page behind the end, and name such a page.
    if (page.kind === 'failed' && number === 1) return page;
    const shown = page.kind === 'page' ? page : undefined;
    const isClear = shown?.lastPage !== undefined && (shown.lastPage <= number || recordsOn(shown) === pageSize);
    if (number === 1 || !(first || isClear)) {
      const asked = number === 1 ? page : await reader.ask(query, 1, pageSize);
      if (asked.kind !== 'page') return asked;
      first = asked;
    }
    const last = shown?.lastPage ?? first?.lastPage;
    if (first && (last === undefined || guess === 'none'))
      return { kind: 'top', number: 1, page: first, isNamed: false };
    const greatest = Math.min(last ?? 1, lastCertain);
    if (greatest === number) {
      // A service may always name one number. Behind the end, it refuses a page, shows nothing, or repeats a page.
      if (!shown) return upwards;
      if (last === number) return { kind: 'top', number, page: shown, isNamed: true };
      const isBehind = first && (isSame(shown, first) || recordsOn(shown) < recordsOn(first));
      if (isBehind) list.named = shown;
      return isBehind || shown.ids.length === 0 ? upwards : { kind: 'too-long', page: shown, pages: last ?? 1 };
    }
    number = greatest;
  }
  return upwards;
}

/** One reading of the list: steps 2 to 5 of `readList`. */
async function readFrom(reader: Reader, query: PageQuery, list: List, top: Top): Promise<ListEnd | Unproven> {
  const { deps } = reader;
  const { number } = top;
  const { pageSize } = list;
  const landing = reader.take(top.page);
  const numbers = Array.from({ length: number - 1 }, (_, index) => number - 1 - index);
  const below = await takeAll(reader, query, numbers, pageSize, list.isFirst ? deps.lists.slots : pLimit(1));
  // The page existed a moment ago. A refusal now means that the list is shorter, or its records are at fault.
  if ('kind' in below) return below.kind === 'refused' ? upwards : below;
  await landing;
  const pages = [...below.toReversed(), top.page];
  if (repeatsPage(pages)) return upwards;

  const areOthersFull = below.every((page) => recordsOn(page) === pageSize);
  const isEndShown = top.isLast || (await readOn(reader, query, list, pages));
  const shownSize = fullSizeOf(pages);
  if (shownSize >= fewRecords && shownSize <= pageSize / 2) {
    // The service shows smaller pages, and may leave out records between two. From now on, ask for the shown size.
    deps.lists.pageSize = shownSize;
    list.pageSize = shownSize;
    return { kind: 'unproven', guess: number };
  }
  if (typeof isEndShown !== 'boolean') return isEndShown;
  const isEmpty = pages.every(({ ids }) => ids.length === 0);
  if (isEndShown && (pages.length === 1 || isEmpty)) return { kind: 'whole' };
  if (!isEndShown && pages.length > 1 && breaksOff(pages)) return { kind: 'too-long', page: middlePage(pages) };
  if (!top.isNamed) return { ...upwards, pages };
  if (lastOf(pages).number > number) return { ...upwards, pages };
  if (!(areOthersFull && number > 1)) return { kind: 'unproven', guess: number, pages };
  return countAgain(reader, query, list, top, pages);
}

/** Requests the last page again: step 5 of `readList`. */
async function countAgain(
  reader: Reader,
  query: PageQuery,
  list: List,
  { number, page }: Top,
  pages: ListPage[],
): Promise<ListEnd | Unproven> {
  const again = await reader.ask(query, number, list.pageSize);
  if (again.kind === 'failed') return again;
  if (again.kind === 'refused') return upwards;
  if ((again.lastPage ?? number) !== number) return { kind: 'unproven', guess: again.lastPage ?? number };
  const before = new Set(idsOf(pages));
  const isNew = (id: string, index: number) => !before.has(id) && (again.seconds[index] ?? 0) < reader.span.end;
  if (again.ids.some(isNew)) await reader.take(again);
  // The service counts hidden reviews, too, and it counts at least one record on its last page.
  const count = (number - 1) * list.pageSize + recordsOn(again);
  const isStill = page.ids.every((id) => again.ids.includes(id));
  // A record that was deleted meanwhile must not make up for a record that no page shows.
  const isShorter = count < list.count;
  if (isShorter) list.shown.clear();
  if (isStill || !(isShorter || list.isFirst)) for (const id of [...before, ...again.ids]) list.shown.add(id);
  list.count = count;
  const isCounted = again.ids.length > 0 && list.shown.size >= count;
  return isCounted ? { kind: 'whole' } : { kind: 'unproven', guess: number, pages };
}

/**
 * Looks for the end of the list behind the pages that were read: step 3 of `readList`. Adds the pages that it reads to
 * `pages`.
 *
 * @returns whether the descending list shows that these are all pages. If not, the page behind them shows nothing new.
 */
async function readOn(
  reader: Reader,
  query: PageQuery,
  { pageSize, named }: List,
  pages: ListPage[],
): Promise<boolean | ListEnd> {
  const ids = new Set(idsOf(pages));
  // Ask for a few records of an empty list. No cache has this request, and no limit of the service forbids it.
  const few = Math.min(fewRecords, pageSize - 1) || 1;
  const asked = await reader.ask({ ...query, desc: true }, 1, ids.size === 0 ? few : pageSize);
  if (ids.size === 0 && asked.kind === 'page' && asked.ids.length === 0) return true;
  const other = asked.kind === 'page' ? asked : { ids: [], seconds: [] };
  const until = Math.min(reader.span.end, reader.readUntil());
  const atEnd = other.ids.filter((_, index) => (other.seconds[index] ?? 0) < until);
  // If all records are in the second behind the span, they still show whether the pages reach that far.
  const awaited = [...(atEnd.length > 0 ? atEnd : other.ids), ...(named?.ids ?? [])];
  // A record of an earlier reading has landed, whatever page it is on now.
  const lacks = () => awaited.some((id) => !reader.hasSeen(id));
  let landing: Promise<unknown> | undefined;
  while (lacks() || !isShownFromEnd(pages, other.seconds, pageSize)) {
    const number = pages.length + 1;
    const next = await reader.ask(query, number, pageSize);
    // A service may fail on a page behind the end. If a record of that page is at fault, the descending request fails,
    // too. Without an order, only a page that is not full may be the last one.
    const mayGoOn = pageSize > 1 && isFull(pages, pageSize) && !(pages.length > 1 && isInOrder(pages, other.seconds));
    if (next.kind === 'failed' && (asked.kind !== 'page' || lacks() || mayGoOn)) return next;
    if (next.kind !== 'page' || next.ids.length === 0 || pages.some((page) => isSame(next, page))) {
      if (!lacks()) return false;
      return { kind: 'too-long', page: ids.size > 0 ? lastOf(pages).page : undefined };
    }
    if (number > reader.lastCertain) return { kind: 'too-long', page: middlePage(pages) };
    await landing;
    landing = reader.take(next);
    for (const id of next.ids) ids.add(id);
    pages.push(next);
  }
  return true;
}

/** Whether the last page is full although the service names more pages behind it. */
function breaksOff(pages: readonly ListPage[]): boolean {
  const { number, page } = lastOf(pages);
  const isFull = recordsOn(page) >= fewRecords && recordsOn(page) === largestOf(pages);
  return isFull && pages.some(({ lastPage = 0 }) => lastPage > number);
}

/**
 * Whether the list ends with these pages, if the descending page holds only their records. If the last page is full,
 * this is not certain: a service may reverse each page instead of the list.
 */
const isShownFromEnd = (pages: readonly ListPage[], descending: ListPage['seconds'], pageSize: number): boolean =>
  !isFull(pages, pageSize) && isInOrder(pages, descending);

const isFull = (pages: readonly ListPage[], pageSize: number) => recordsOn(lastOf(pages).page) === pageSize;

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

/** The last page that shows records, or page 1. */
function lastOf(pages: readonly ListPage[]): Pick<Top, 'number' | 'page'> {
  const last = pages.findLastIndex(({ ids }) => ids.length > 0);
  const index = Math.max(0, last);
  return { number: index + 1, page: pages[index] as ListPage };
}

const middlePage = (pages: readonly ListPage[]) => pages[Math.floor(lastOf(pages).number / 2)] as ListPage;

const idsOf = (pages: readonly ListPage[]) => pages.flatMap((page) => page.ids);

/** Whether two pages show the same records. A service may repeat its last page behind the end of a list. */
const isSame = (one: ListPage, other: ListPage | undefined) =>
  one.ids.length > 0 && one.ids.join() === other?.ids.join();

function repeatsPage(pages: readonly ListPage[]): boolean {
  const shown = pages.flatMap(({ ids }) => (ids.length > 0 ? [ids.join()] : []));
  return new Set(shown).size < shown.length;
}

const recordsOn = (page: ListPage): number => new Set(page.ids).size;

/** Records of each page before the last, if all have the same number and the last has no more; otherwise 0. */
function fullSizeOf(pages: readonly ListPage[]): number {
  const full = pages.slice(0, lastOf(pages).number - 1);
  const largest = largestOf(pages);
  return full.length > 0 && full.every((page) => recordsOn(page) === largest) ? largest : 0;
}

const largestOf = (pages: readonly ListPage[]): number => Math.max(...pages.map(recordsOn));

/**
 * Whether two readings showed the same records, each once. If the first reading was one page, and so one moment, the
 * second may show a record twice: a service may order equal dates in another way each time.
 */
function showsSame(first: readonly ListPage[], second: readonly ListPage[]): boolean {
  const one = idsOf(first);
  const other = idsOf(second);
  const both = new Set([...one, ...other]);
  const isOnce = new Set(one).size === both.size && new Set(other).size === both.size;
  const isPage = lastOf(first).number === 1;
  return (isOnce || isPage) && [one, other].every((ids) => ids.length === both.size);
}
