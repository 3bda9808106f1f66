import pLimit from 'p-limit';
import { type ListPage, limitsOf, type Obstacle, type PageQuery } from './list-page.ts';
import { type Reader, takeAll } from './reader.ts';

/**
 * How the reading of a list ends.
 *
 * - `whole`: everything that the list held throughout was read.
 * - `too-long`: the list has more pages than the service lets us request. `page`: the last page that is certain, or the
 *   last one with records. `pages`: the number of pages that the service names.
 * - `changing`: no reading reached the service's count, or agreed with the reading before.
 */
export type ListEnd =
  | { kind: 'whole' }
  | { kind: 'changing' }
  | { kind: 'too-long'; page: ListPage; pages?: number }
  | Obstacle;

/** Readings of a list by number, and as many upwards. 16: thirty pages in a new order each time are complete after eleven. */
const attemptsAtMost = 16;
/** Looks for the last page of a list. A list that stands still takes three. */
const looksAtMost = 8;

/**
 * Reads a list by page numbers (docs/interface.md, "Reviews"). The number `last` says where to look; the pages say what
 * is there.
 *
 * 1. Find the last page by the number that the service names. A list of one page is one response: one moment.
 * 2. Read all pages before it side by side. The page behind it must show nothing: it is asked for once, unless the
 *    service's numbers were right before and the last page is short. Read the last page again: its number and its length
 *    say how many records there are.
 * 3. The list is whole if at least that many different records were shown, and the last page still has its first
 *    records. Then nothing was deleted: a deletion shifts records to pages that were read already.
 * 4. Otherwise something was added or deleted, or the count is of no use (hidden reviews). The list is read again, from
 *    the last page to the first: deletions shift records to pages that are still to be read. The list is whole by its
 *    count, or if two readings in turn show the same records.
 *
 * If the pages contradict the number, or there is none, the list is read from page 1 to the page behind which nothing is
 * shown, until two readings in turn show the same.
 *
 * If a page is empty although others follow, or although it is the only one, all its records are hidden, or the service
 * is wrong. Before two readings prove the list, each empty page is requested again with a page size of 99. If the list
 * is read without a number, the end and the two pages behind it are requested so, too. If all pages are empty, these
 * requests alone prove the list.
 *
 * @param start.guess the page to look at first. `start.last`: the last page, if it is known.
 */
export async function readList(reader: Reader, query: PageQuery, start: Start = {}): Promise<ListEnd> {
  const end = await readByNumber(reader, query, start);
  return end.kind === 'contradicted' ? readUpwards(reader, query, end.first) : end;
}

type Start = { guess?: number | undefined; last?: ListPage | undefined };

/** A page and its number. */
type Last = { number: number; page: ListPage };

/** What one reading shows. `empty`: pages that showed nothing; `pageWithMore` checks that they are empty. */
type Reading = { kind: 'read'; ids: string[]; empty: number[] };

/** The list became longer or shorter. `number`: the page to look at first. */
type Moved = { kind: 'moved'; number: number };

/** No number is named, or the pages contradict it. `first`: page 1, if it was just shown and nothing speaks against it. */
type Contradicted = { kind: 'contradicted'; first?: ListPage | undefined };

/** What the readings of one list have shown so far: its records, and the page behind which nothing is. */
type Shown = { ids: Set<string>; end?: number };

/** Reads the list by the number of its last page, until a reading proves it or the number turns out to be wrong. */
async function readByNumber(reader: Reader, query: PageQuery, start: Start): Promise<ListEnd | Contradicted> {
  // The page that another list has shown shows there what comes behind it.
  const shown: Shown = { ids: new Set(), ...(start.last && { end: reader.most }) };
  let last = start.last && { number: reader.most, page: start.last };
  let guess = start.guess ?? 1;
  let earlier: Reading | undefined;
  for (let attempt = 1; attempt <= attemptsAtMost; attempt += 1) {
    const top = last ?? (await findLast(reader, query, guess));
    const read = 'kind' in top ? top : await readBelow(reader, query, shown, top, attempt === 1);
    last = undefined;
    if (read.kind === 'moved') {
      guess = read.number;
      earlier = undefined;
      continue;
    }
    if (read.kind !== 'read') return read;
    const end = await endOf(reader, query, earlier, read);
    if (end && end.kind !== 'more') return end;
    earlier = end ? undefined : read;
  }
  return { kind: 'changing' };
}

/**
 * Reads the list from page 1 to the page behind which nothing is, until two readings agree.
 *
 * @param first page 1, if it was just requested.
 */
async function readUpwards(reader: Reader, query: PageQuery, first: ListPage | undefined): Promise<ListEnd> {
  /** A page that shows records, although an empty one before it looked like the end. */
  let least = 1;
  let earlier: Reading | undefined;
  for (let attempt = 1; attempt <= attemptsAtMost; attempt += 1) {
    const read = await readUp(reader, query, least, attempt === 1 ? first : undefined);
    if (read.kind !== 'read') return read;
    const end = await endOf(reader, query, earlier, read);
    if (end && end.kind !== 'more') return end;
    if (end) least = end.number;
    earlier = end ? undefined : read;
  }
  return { kind: 'changing' };
}

/**
 * What two readings, one after the other, prove. A single reading is enough if it shows nothing.
 *
 * @returns `more`: the number of a page that looked empty and shows records. Undefined: they differ; the list is read again.
 */
async function endOf(
  reader: Reader,
  query: PageQuery,
  earlier: Reading | undefined,
  read: Reading,
): Promise<{ kind: 'whole' } | { kind: 'more'; number: number } | Obstacle | undefined> {
  if (read.ids.length > 0 && !(earlier && showsSame(earlier.ids, read.ids))) return undefined;
  return pageWithMore(reader, query, read);
}

/** Looks for the last page by the numbers that pages name. A page that names none is the last one if page 1 says so. */
async function findLast(
  reader: Reader,
  query: PageQuery,
  guess: number,
): Promise<Last | ListEnd | Moved | Contradicted> {
  const { most } = reader;
  let number = Math.max(1, Math.min(most, guess));
  let first: ListPage | undefined;
  for (let look = 1; look <= looksAtMost; look += 1) {
    const page = await reader.ask(query, number);
    if (page.kind === 'failed' || (page.kind === 'refused' && number === 1)) return page;
    if (page.kind === 'page' && number === 1) first = page;
    if (page.kind === 'refused' || (page.lastPage === undefined && !first)) {
      const asked = await reader.ask(query, 1);
      if (asked.kind !== 'page') return asked;
      first = asked;
    }
    const last = (page.kind === 'page' ? page.lastPage : undefined) ?? first?.lastPage;
    if (last === undefined) return { kind: 'contradicted', first };
    if (Math.min(last, most) !== number) {
      number = Math.min(last, most);
      continue;
    }
    if (page.kind === 'refused') {
      // A service that always names the same number refuses all pages that the list does not have.
      const before = await reader.ask(query, number - 1);
      return before.kind === 'page' && before.ids.length > 0 ? page : { kind: 'contradicted' };
    }
    if (last === number) return { number, page };
    if (page.ids.length === 0 || (await isRepeated(reader, query, page, first))) return { kind: 'contradicted' };
    return { kind: 'too-long', page, pages: last };
  }
  return { kind: 'moved', number };
}

/** Whether the last page that may be asked for shows another page again, as behind the end of a list. */
async function isRepeated(reader: Reader, query: PageQuery, page: ListPage, first: ListPage | undefined) {
  if (first && isSame(page, first)) return true;
  if (recordsOn(page) >= limitsOf(reader.deps).pageSize) return false;
  const before = await reader.ask(query, reader.most - 1);
  return before.kind === 'page' && isSame(page, before);
}

/**
 * Reads the pages below the last one, and the last one again: steps 2 and 3 of `readList`.
 *
 * @param isFirst the first reading of the list.
 */
async function readBelow(
  reader: Reader,
  query: PageQuery,
  shown: Shown,
  { number, page: top }: Last,
  isFirst: boolean,
): Promise<Reading | ListEnd | Moved | Contradicted> {
  const landing = reader.take(top);
  const numbers = Array.from({ length: number - 1 }, (_, index) => number - 1 - index);
  const below = await takeAll(reader, query, numbers, isFirst ? reader.deps.pages.slots : pLimit(1));
  if ('kind' in below) return below.kind === 'refused' ? refusedOrMoved(reader, query, below) : below;
  await landing;

  const pages = [top, ...below];
  if (below.some((page, index) => isSame(page, pages[index] ?? page))) return contradicted(reader);
  // A number may be too small, and a page short because hidden reviews were taken off it.
  const isFull = recordsOn(top) >= reader.largest() && !isSmall(reader);
  const isEnd = shown.end === number || (number === 1 && top.ids.length === 0);
  const areOthersFull = below.every((page) => recordsOn(page) === limitsOf(reader.deps).pageSize);
  const isBelieved = reader.deps.pages.areNumbersRight && areOthersFull && !isFull && !isSmall(reader);
  if (!isEnd && !isBelieved) {
    const next = await pageBehind(reader, query, { number, page: top });
    if (next.kind === 'failed') return next;
    const isLonger = next.kind === 'page' && (next.lastPage ?? 0) > number;
    if (isLonger) return { kind: 'moved', number: next.lastPage ?? number };
    if (next.kind === 'page' || next.kind === 'unknown') return contradicted(reader);
    shown.end = number;
    if (number > 1 && areOthersFull) reader.deps.pages.areNumbersRight = true;
  }

  // A single page is consistent. If it is full, a record may follow it, and a deletion may shift that record onto it.
  const end = number > 1 || isFull ? await reader.ask(query, number) : top;
  if (end.kind === 'failed') return end;
  if (end.kind === 'refused') return refusedOrMoved(reader, query, { ...end, number });
  if ((end.lastPage ?? number) !== number) return { kind: 'moved', number: end.lastPage ?? number };
  const ids = pages.flatMap((page) => page.ids);
  const before = new Set(ids);
  const isNew = (id: string, index: number) => !before.has(id) && (end.seconds[index] ?? 0) < reader.span.end;
  if (end.ids.some(isNew)) await reader.take(end);
  for (const id of [...ids, ...end.ids]) shown.ids.add(id);

  // The service counts what it hides, and it counts at least one record on its last page.
  const full = Math.max(...[...below, end].map(recordsOn));
  const isCounted = end.ids.length > 0 && shown.ids.size >= (number - 1) * full + recordsOn(end);
  const empty = [number, ...numbers].filter((_, index) => pages[index]?.ids.length === 0);
  const isStill = top.ids.every((id) => end.ids.includes(id));
  return isCounted && (isStill || !isFirst) ? { kind: 'whole' } : { kind: 'read', ids, empty };
}

function contradicted({ deps }: Reader): Contradicted {
  deps.pages.areNumbersRight = false;
  return { kind: 'contradicted' };
}

/** A page that was there a moment ago is refused: the list has become shorter, or page 1 says that it has not. */
async function refusedOrMoved(
  reader: Reader,
  query: PageQuery,
  { number, ...refused }: Obstacle & { number: number },
): Promise<Obstacle | Moved> {
  const first = number === 1 ? refused : await reader.ask(query, 1);
  if (first.kind !== 'page') return first;
  const last = first.lastPage ?? 1;
  return last >= number ? refused : { kind: 'moved', number: last };
}

/**
 * Reads upwards from page 1. A short page is no end, since a service may take hidden reviews off the pages that it has
 * cut.
 *
 * @param least a page up to which empty pages are no end. `first`: page 1, if it was just requested.
 */
async function readUp(
  reader: Reader,
  query: PageQuery,
  least: number,
  first: ListPage | undefined,
): Promise<Reading | ListEnd> {
  const ids: string[] = [];
  const empty: number[] = [];
  let last: ListPage | undefined;
  let landing: Promise<unknown> | undefined;
  let page = first ?? (await reader.ask(query, 1));
  for (let number = 1; ; number += 1) {
    if (page.kind !== 'page') return page;
    const isEmpty = page.ids.length === 0;
    if (isEmpty) {
      empty.push(number);
    } else {
      await landing;
      landing = reader.take(page);
      last = page;
      ids.push(...page.ids);
    }
    let next = isEmpty ? ({ kind: 'nothing' } as const) : await pageBehind(reader, query, { number, page });
    if (next.kind === 'nothing') {
      // Pages that are empty, or refused because of a record on them, may lie between.
      const from = isEmpty ? number : number + 1;
      const namesMore = (page.lastPage ?? 0) > number;
      const isMore = number < least || (namesMore && (await showsBehind(reader, query, from, page)));
      if (!isMore) {
        empty.push(...[from, from + 1, from + 2].filter((one) => one <= limitsOf(reader.deps).pages));
        break;
      }
      next = await reader.ask(query, number + 1);
    }
    const isLong = next.kind === 'unknown' || (next.kind === 'page' && number === reader.most);
    if (isLong) return { kind: 'too-long', page: last ?? page };
    if (next.kind !== 'unknown') page = next;
  }
  await landing;
  return { kind: 'read', ids, empty };
}

/** Requests each empty page again, one record shorter. @returns `more`: the first that shows a record unknown to the reading. */
async function pageWithMore(
  reader: Reader,
  query: PageQuery,
  { ids, empty }: Reading,
): Promise<{ kind: 'whole' } | { kind: 'more'; number: number } | Obstacle> {
  const known = new Set(ids);
  for (const number of new Set(empty)) {
    const page = await reader.ask(query, number, limitsOf(reader.deps).pageSize - 1);
    if (page.kind === 'failed') return page;
    if (page.kind === 'page' && page.ids.some((id) => !known.has(id))) return { kind: 'more', number };
  }
  return { kind: 'whole' };
}

/**
 * What lies behind a page.
 *
 * - `nothing`: the next page is empty, or, behind the end of a list, refused or the same again.
 * - `unknown`: the next page is the same again, but this page is full, and with one record less a page the list goes on.
 */
async function pageBehind(
  reader: Reader,
  query: PageQuery,
  { number, page }: Last,
): Promise<ListPage | { kind: 'nothing' } | { kind: 'unknown' } | Obstacle> {
  const next = await reader.ask(query, number + 1);
  if (next.kind === 'failed') return next;
  if (next.kind === 'page' && !isSame(next, page)) return next.ids.length > 0 ? next : { kind: 'nothing' };
  if (next.kind === 'refused' && page.lastPage === number) {
    const again = await reader.ask(query, number + 1);
    return again.kind === 'refused' ? { kind: 'nothing' } : again;
  }
  const namesMore = (page.lastPage ?? 0) > number;
  const isShort = recordsOn(page) < reader.largest() || isSmall(reader);
  const isEnd = next.kind === 'page' ? isShort : isShort && !namesMore;
  if (isEnd || (await endsFull(reader, query, number, recordsOn(page)))) return { kind: 'nothing' };
  return next.kind === 'refused' ? next : { kind: 'unknown' };
}

/**
 * Whether a list ends with this full page. Smaller pages are cut elsewhere: a list of 300 records ends with 3 on page 4
 * of 99.
 */
async function endsFull(reader: Reader, query: PageQuery, number: number, size: number): Promise<boolean> {
  const { pages, pageSize } = limitsOf(reader.deps);
  const limit = [size - 1, size - 2].find((less) => less > 0 && (number * size) % less > 0) ?? pageSize;
  const last = Math.ceil((number * size) / limit);
  // A service that ignores the limit shows more than was asked for.
  if (limit >= pageSize || number > reader.most || last > pages) return false;
  const rest = await reader.ask(query, last, limit);
  return rest.kind === 'page' && rest.ids.length > 0 && recordsOn(rest) <= (number * size) % limit;
}

/** Whether a page behind this one shows records, although this one shows none: some of them are looked at. */
async function showsBehind(reader: Reader, query: PageQuery, number: number, last: ListPage): Promise<boolean> {
  for (let step = 1; number < limitsOf(reader.deps).pages; step *= 2) {
    number = Math.min(limitsOf(reader.deps).pages, number + step);
    const page = await reader.ask(query, number);
    if (page.kind === 'page' && page.ids.length > 0 && !isSame(page, last)) return true;
  }
  return false;
}

/**
 * No known service returns pages this small, two records of a hundred, and no smaller page would show more. A list
 * without a larger page is therefore short.
 */
const shortPage = 0.02;
const isSmall = ({ deps, largest }: Reader) => largest() <= Math.max(1, limitsOf(deps).pageSize * shortPage);

/** Whether a page shows what another one shows, as a service may that repeats its last page behind the end of a list. */
const isSame = (one: ListPage, other: ListPage) => one.ids.length > 0 && one.ids.join() === other.ids.join();

const recordsOn = (page: ListPage): number => new Set(page.ids).size;

/** Whether two readings showed the same records, each of them once. */
function showsSame(one: readonly string[], other: readonly string[]): boolean {
  const both = new Set([...one, ...other]);
  return [one, other].every((ids) => ids.length === both.size && new Set(ids).size === both.size);
}
