import pLimit from 'p-limit';
import { type ListPage, limitsOf, type Obstacle, type PageQuery } from './list-page.ts';
import { type Part, type Reader, takeAll } from './reader.ts';

/**
 * How the reading of a list ends.
 *
 * - `whole`: everything that the list held throughout was read.
 * - `too-long`: the list has more than its pages show. `page`: the last page that is certain, or the last one with
 *   records. `pages`: the number of pages that the service names.
 * - `changing`: no reading reached the service's count, or agreed with the reading before.
 * - `doubted`: the list showed nothing at each reading, and a shorter list shows reviews of it.
 */
export type ListEnd =
  | { kind: 'whole' }
  | { kind: 'too-long'; page?: ListPage; pages?: number }
  | { kind: 'changing' | 'doubted'; reason: string }
  | Obstacle;

/** Readings of a list that show no new record and prove nothing. A change between two readings costs one. */
const vainAtMost = 4;
/** Readings of a list. 16: thirty pages in a new order each time are complete after eleven. */
const attemptsAtMost = 16;
/** Looks for the last page of a list. A list that stands still takes three. */
const looksAtMost = 5;

/**
 * Reads a list by page numbers (docs/interface.md, "Reviews"). The number `last` says where to look; the pages say what
 * is there.
 *
 * 1. `findTop`: the last page, by the number that the service names. If there is no number, or the pages contradict it,
 *    page 1.
 * 2. `readFrom`: the pages below it, side by side.
 * 3. `readOn`: the end. In descending order, the list begins with records that were just read. If other records come
 *    first, or the list has no order, the pages behind are read one by one, up to one that shows nothing. Nothing of
 *    this is done for a short last page that is the only one or behind full ones, if the service's numbers were right
 *    before.
 * 4. The last page is read again. The list is whole if at least as many different records were shown as its
 *    number and its length say, and it still has its first records. Then nothing was deleted: a deletion shifts records
 *    to pages that were read already. A list of one page is one response, which is one moment: its end proves it.
 * 5. Otherwise something was added or deleted, or the count is of no use (hidden reviews, no number). The list is read
 *    again, the pages below the last one by one and downwards: deletions shift records to pages that are still to be
 *    read. It is whole by its count, or if two readings in turn show the same records.
 *
 * If a page is empty although others follow, or the service names a page behind the last full one, the records there are
 * hidden, or the service is wrong. Such a list is too long: in its parts, the pages are cut elsewhere. If records between two
 * pages are on neither, the list is read again in smaller pages.
 *
 * @param start.guess the page to look at first. `start.last`: the last page, if it is known.
 */
export async function readList(
  reader: Reader,
  query: PageQuery,
  start: Pick<Part, 'guess' | 'last'> = {},
): Promise<ListEnd> {
  const list: List = { shown: new Set(), count: 0, isFirst: true };
  let known: Top | undefined = start.last && { number: reader.most, page: start.last, isNamed: true, isLast: true };
  let guess = start.guess ?? 1;
  let earlier: string[] | undefined;
  let vain = 0;
  for (let attempt = 1; attempt <= attemptsAtMost && vain < vainAtMost; attempt += 1) {
    const before = reader.size();
    const top = known ?? (await findTop(reader, query, guess));
    const end = 'isNamed' in top ? await readFrom(reader, query, list, top) : top;
    if (reader.size() === before) vain += 1;
    if (end.kind === 'doubted' && vain < vainAtMost) continue;
    if (end.kind !== 'unproven') return end;
    const ids = end.pages && idsOf(end.pages);
    if (ids && earlier && showsSame(earlier, ids)) return { kind: 'whole' };
    [known, guess, earlier, list.isFirst] = [undefined, end.guess, ids, false];
  }
  return { kind: 'changing', reason: 'the list changed at each reading' };
}

/** The page from which a list is read. `isNamed`: the service calls it the last one. `isLast`: nothing is behind it. */
type Top = { number: number; page: ListPage; isNamed: boolean; isLast?: boolean };

/**
 * What is known of a list beyond one reading. `shown`: records of all readings since it became shorter; `count`: how many it
 * had in the last one. `isFirst`: whether the list is read for the first time.
 */
type List = { shown: Set<string>; count: number; isFirst: boolean };

/**
 * A reading that proves nothing by itself. `guess`: the page to look at first in the next reading. `pages`: what it shows;
 * undefined if the list became longer or shorter meanwhile, or the number of its last page is wrong.
 */
type Unproven = { kind: 'unproven'; guess: number; pages?: ListPage[] };

/** The guess if the numbers of the last page are of no use: the list is read upwards from page 1. */
const unnamed = 0;
const upwards: Unproven = { kind: 'unproven', guess: unnamed };

/** Looks for the last page by the numbers that pages name. A page that names none is the last one if page 1 says so. */
async function findTop(reader: Reader, query: PageQuery, guess: number): Promise<Top | ListEnd | Unproven> {
  const { most } = reader;
  let number = Math.max(1, Math.min(most, guess));
  let first: ListPage | undefined;
  for (let look = 1; look <= looksAtMost; look += 1) {
    const page = await reader.ask(query, number);
    if (page.kind === 'failed' || (page.kind === 'refused' && number === 1)) return page;
    if (page.kind === 'page' && number === 1) first = page;
    if (!first && (page.kind === 'refused' || page.lastPage === undefined)) {
      const asked = await reader.ask(query, 1);
      if (asked.kind !== 'page') return asked;
      first = asked;
    }
    const named = (page.kind === 'page' ? page.lastPage : undefined) ?? first?.lastPage;
    if (first && (named === undefined || guess === unnamed)) return { number: 1, page: first, isNamed: false };
    const last = named ?? 1;
    if (Math.min(last, most) !== number) {
      number = Math.min(last, most);
      continue;
    }
    // A service that always names the same number refuses all pages that the list does not have.
    if (page.kind === 'refused') return upwards;
    if (last === number) return { number, page, isNamed: true };
    if (page.ids.length === 0 || (await mayBeEnd(reader, query, page, first))) return upwards;
    return { kind: 'too-long', page, pages: last };
  }
  return upwards;
}

/**
 * Whether the list may end with the last page that may be asked for, although a greater number is named: the page shows
 * another page again, as behind the end of a list, or fewer records than the page before it.
 */
async function mayBeEnd(reader: Reader, query: PageQuery, page: ListPage, first: ListPage | undefined) {
  if (first && isSame(page, first)) return true;
  if (recordsOn(page) >= limitsOf(reader.deps).pageSize) return false;
  const before = await reader.ask(query, reader.most - 1);
  return before.kind === 'page' && (isSame(page, before) || recordsOn(page) < recordsOn(before));
}

/** One reading of the list: steps 2 to 4 of `readList`. */
async function readFrom(reader: Reader, query: PageQuery, list: List, top: Top): Promise<ListEnd | Unproven> {
  const { deps } = reader;
  const { pageSize } = limitsOf(deps);
  const { number } = top;
  const landing = reader.take(top.page);
  const numbers = Array.from({ length: number - 1 }, (_, index) => number - 1 - index);
  const below = await takeAll(reader, query, numbers, list.isFirst ? deps.pages.slots : pLimit(1));
  // A page that was there a moment ago is refused: the list has become shorter, or its records are at fault.
  if ('kind' in below) return below.kind === 'refused' ? upwards : below;
  await landing;
  const pages = [...below.toReversed(), top.page];
  if (pages.some((page, index) => isSame(page, pages[index - 1]))) return contradicted(reader);

  const areOthersFull = below.every((page) => recordsOn(page) === pageSize);
  const isShort = top.page.ids.length > 0 && recordsOn(top.page) < pageSize;
  const isKnown = top.isLast || (top.isNamed && reader.believesNumbers() && areOthersFull && isShort);
  const end = isKnown ? 'known' : await readOn(reader, query, pages);
  const isEmpty = pages.every(({ ids }) => ids.length === 0);
  if (end === 'shown' && (pages.length === 1 || isEmpty)) return { kind: 'whole' };
  const leaves = (typeof end === 'string' || end.kind === 'too-long') && (await leavesOut(reader, query, pages));
  if (leaves) return leaves === true ? { kind: 'unproven', guess: 1 } : leaves;
  if (typeof end !== 'string') return end;
  if (pages.slice(0, lastOf(pages).number).some(({ ids }) => ids.length === 0)) return { kind: 'too-long' };
  if (end === 'unclear' && breaksOff(pages)) return { kind: 'too-long', page: middlePage(pages) };
  if (!top.isNamed) return { ...upwards, pages };
  if (lastOf(pages).number > number) return { ...contradicted(reader), pages };

  if (!isKnown && number > 1 && areOthersFull) deps.pages.areNumbersRight = true;
  const again = number > 1 || end === 'unclear' ? await reader.ask(query, number) : top.page;
  if (again.kind === 'failed') return again;
  if (again.kind === 'refused') return upwards;
  if ((again.lastPage ?? number) !== number) return { kind: 'unproven', guess: again.lastPage ?? number };
  const before = new Set(idsOf(pages));
  const isNew = (id: string, index: number) => !before.has(id) && (again.seconds[index] ?? 0) < reader.span.end;
  if (again.ids.some(isNew)) await reader.take(again);
  // The service counts what it hides, and it counts at least one record on its last page.
  const count = (number - 1) * Math.max(...[...below, again].map(recordsOn)) + recordsOn(again);
  const isStill = top.page.ids.every((id) => again.ids.includes(id));
  // A record that was deleted meanwhile must not make up for one that no page shows.
  const isShorter = count < list.count;
  if (isShorter) list.shown.clear();
  if (isStill || !(isShorter || list.isFirst)) for (const id of [...before, ...again.ids]) list.shown.add(id);
  list.count = count;
  const isCounted = again.ids.length > 0 && list.shown.size >= count;
  return isCounted ? { kind: 'whole' } : { kind: 'unproven', guess: number, pages };
}

function contradicted({ deps }: Reader): Unproven {
  deps.pages.areNumbersRight = false;
  return upwards;
}

/**
 * Looks for the end of the list behind the pages that were read: step 3 of `readList`. Pages that it reads are added to
 * `pages`.
 *
 * @returns `shown`: the list shows from its other end that these are all pages. `unclear`: the page behind them shows
 *   nothing new.
 */
async function readOn(reader: Reader, query: PageQuery, pages: ListPage[]): Promise<'shown' | 'unclear' | ListEnd> {
  const { pageSize } = limitsOf(reader.deps);
  const ids = new Set(idsOf(pages));
  // Ask for a few records of an empty list: no stored response answers that request, and no limit of the service forbids it.
  const few = Math.min(fewRecords, pageSize - 1);
  const asked = await reader.ask({ ...query, desc: true }, 1, ids.size === 0 ? few : pageSize);
  const other = asked.kind === 'page' ? asked : { ids: [], seconds: [] };
  if (ids.size === 0) {
    if (asked.kind === 'page' && asked.ids.length === 0) return 'shown';
    // A service may refuse to sort, or hide a whole page.
    const begin = await reader.ask(query, 1, few);
    if (begin.kind !== 'page') return begin;
    if (begin.ids.length > 0) return { kind: 'doubted', reason: `the list is empty unless only ${few} are asked for` };
    const behind = asked.kind === 'page' ? asked : await reader.ask(query, 2);
    if (behind.kind === 'failed') return behind;
    return behind.kind === 'page' && behind.ids.length > 0 ? { kind: 'too-long' } : 'shown';
  }
  const until = Math.min(reader.span.end, reader.readUntil());
  const atEnd = other.ids.filter((_, index) => (other.seconds[index] ?? 0) < until);
  // Records that are all of the second behind the span still show whether the pages go so far.
  const awaited = atEnd.length > 0 ? atEnd : other.ids;
  const lacks = () => awaited.some((id) => !ids.has(id));
  let landing: Promise<unknown> | undefined;
  while (lacks() || !isShownFromEnd(pages, other.seconds, pageSize)) {
    const number = pages.length + 1;
    const last = lastOf(pages);
    const next = await reader.ask(query, number);
    if (next.kind === 'failed') return next;
    const isEmpty = next.kind === 'page' && next.ids.length === 0;
    if (isEmpty || next.kind === 'refused' || pages.some((page) => isSame(next, page))) {
      if (lacks()) return { kind: 'too-long', page: last.page };
      // An empty page 30 may be one that the service never shows.
      const isEnd = isEmpty ? last.number < reader.most : await endsHere(reader, query, pages, next, atEnd.length > 0);
      return isEnd ? 'unclear' : { kind: 'too-long', page: middlePage(pages) };
    }
    if (number > reader.most) return { kind: 'too-long', page: last.page };
    await landing;
    landing = reader.take(next);
    for (const id of next.ids) ids.add(id);
    pages.push(next);
  }
  return 'shown';
}

/** Records of a page that is small for every service. */
const fewRecords = 10;

/** Whether the pages end with a full one although the service names others behind it. */
function breaksOff(pages: readonly ListPage[]): boolean {
  const { number, page } = lastOf(pages);
  const isFull = recordsOn(page) >= fewRecords && pages.every((one) => recordsOn(one) <= recordsOn(page));
  return isFull && pages.some(({ lastPage = 0 }) => lastPage > number);
}

/**
 * Whether records between two pages are on neither: a service may show 50 records of the 100 asked for, and begin page 2 with
 * the 101st. If only as many are asked for as it shows, page 2 begins with the 51st. From then on, no more are asked for.
 */
async function leavesOut(reader: Reader, query: PageQuery, pages: readonly ListPage[]): Promise<boolean | Obstacle> {
  const largest = Math.max(...pages.map(recordsOn));
  const isBelieved = pages.length === 1 && reader.believesNumbers();
  if (isBelieved || largest < fewRecords || largest >= limitsOf(reader.deps).pageSize) return false;
  const second = await reader.ask(query, 2, largest);
  // A list of one page may have no second one. Else a record that is on no page is at fault.
  if (second.kind !== 'page') return lastOf(pages).number === 1 ? false : second;
  const shown = new Set(idsOf(pages));
  const leaves = second.ids.some((id, index) => !shown.has(id) && (second.seconds[index] ?? 0) < reader.readUntil());
  if (leaves) reader.askForLess(largest);
  return leaves;
}

/**
 * Whether the list ends with these pages, if the page in descending order (`downwards`) holds none but their records. It must
 * begin with the newest of them and be of two seconds at least: a record of the first second may hide behind it. A service
 * without an order, or that ignores it, shows other seconds; one that turns each page by itself cannot be recognised
 * by a full page.
 */
function isShownFromEnd(pages: readonly ListPage[], downwards: ListPage['seconds'], pageSize: number): boolean {
  const upwards = pages.flatMap(({ seconds }) => seconds.filter((second) => second !== undefined));
  const atEnd = downwards.filter((second) => second !== undefined).reverse();
  const [first = 0, newest = 0] = [atEnd[0], upwards.at(-1)];
  const isFull = recordsOn(lastOf(pages).page) === pageSize;
  return !isFull && first < newest && newest <= (atEnd.at(-1) ?? 0) && isRising(upwards) && isRising(atEnd);
}

export const isRising = (seconds: readonly number[]) =>
  seconds.every((second, at) => second >= (seconds[at - 1] ?? second));

/** Whether a list ends with these pages, although the one behind them is refused, or shows one of them again. */
async function endsHere(
  reader: Reader,
  query: PageQuery,
  all: readonly ListPage[],
  next: ListPage | Obstacle,
  isSeenFromEnd: boolean,
): Promise<boolean> {
  const { number, page } = lastOf(all);
  if (next.kind === 'refused' && page.lastPage === number) {
    return (await reader.ask(query, number + 1)).kind === 'refused';
  }
  const { pages, pageSize } = limitsOf(reader.deps);
  const largest = Math.max(...all.map(recordsOn));
  const isSmall = largest <= Math.max(1, pageSize * shortPage);
  if (isSmall && (isSeenFromEnd || next.kind === 'page' || (page.lastPage ?? 0) <= number)) return true;
  // Smaller pages are cut elsewhere: a list of 300 records ends with 3 on page 4 of 99.
  const total = (number - 1) * largest + recordsOn(page);
  const limit = [largest - 1, largest - 2].find((less) => less > 0 && total % less > 0) ?? pageSize;
  const last = Math.ceil(total / limit);
  // A service that ignores the limit shows more than was asked for.
  if (limit >= pageSize || number > reader.most || last > pages) return false;
  const rest = await reader.ask(query, last, limit);
  return rest.kind === 'page' && rest.ids.length > 0 && recordsOn(rest) <= total % limit;
}

/** No known service returns pages this small, two records of a hundred, and no smaller page would show more. */
const shortPage = 0.02;

/** The last page that shows records, or page 1. */
function lastOf(pages: readonly ListPage[]): Pick<Top, 'number' | 'page'> {
  const last = pages.findLastIndex(({ ids }) => ids.length > 0);
  const index = Math.max(0, last);
  return { number: index + 1, page: pages[index] as ListPage };
}

const middlePage = (pages: readonly ListPage[]) => pages[Math.floor(lastOf(pages).number / 2)] as ListPage;

const idsOf = (pages: readonly ListPage[]) => pages.flatMap((page) => page.ids);

/** Whether a page shows what another one shows, as a service may that repeats its last page behind the end of a list. */
const isSame = (one: ListPage, other: ListPage | undefined) =>
  one.ids.length > 0 && one.ids.join() === other?.ids.join();

const recordsOn = (page: ListPage): number => new Set(page.ids).size;

/** Whether two readings showed the same records, each of them once. */
function showsSame(one: readonly string[], other: readonly string[]): boolean {
  const both = new Set([...one, ...other]);
  return [one, other].every((ids) => ids.length === both.size && new Set(ids).size === both.size);
}
