import { type ListPage, limitsOf, type PageQuery, UnreadableError } from './list-page.ts';
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
  | { kind: 'changing' }
  | { kind: 'too-long'; page: ListPage; lastPage?: number };

/** Readings of a list, and looks for its end. 16: thirty pages in a new order each time are complete after eleven. */
const attemptsAtMost = 16;

/** "page: max 30" may be a cap: more may lie behind page 30, but page 29 is the last where the service says so. */
export const lastCertainPage = ({ deps }: Reading): number => limitsOf(deps).pages - 1;

/**
 * Reads a list by page numbers, from the last page to the first (docs/interface.md, "Reviews"). What is deleted
 * meanwhile shifts other records to pages with smaller numbers, which are still to be read.
 *
 * 1. Find the last page by the number that the service names. A list of one page is one response: one moment. An empty
 *    one is requested twice.
 * 2. Read down to page 1, then the last page again. Its number and its length say how many records there are.
 * 3. The list is whole where at least as many different records were shown.
 * 4. Otherwise something was added to pages that were read already, or the count is of no use (hidden reviews). The
 *    list is read again, and is whole where two readings in turn show the same records, too.
 *
 * A service that names no last page is read from page 1 to the page behind which nothing is shown: as in 4.
 *
 * @param guess the page to look at first.
 * @throws UnreadableError where the service refuses a page that the list has, or fails on one.
 */
export async function readList(reading: Reading, query: PageQuery, guess = 1): Promise<ListEnd> {
  const most = lastCertainPage(reading);
  const seen = new Set<string>();
  /** Records of a full page: no page but the last is shorter, unless hidden reviews were taken off it. */
  let size = 0;
  /** What the reading before showed. */
  let before: string[] | undefined;
  let number = 1;
  const lookAt = (lastPage = 1) => {
    number = Math.max(1, Math.min(most, lastPage));
  };
  lookAt(guess);
  for (let attempt = 1; attempt <= attemptsAtMost; attempt += 1) {
    const top = await pageUnlessGone(reading, query, number);
    if (!top || (top.lastPage === undefined && number > 1)) {
      lookAt(1);
      continue;
    }
    if (top.lastPage === undefined) {
      const { ids, next } = await readUp(reading, query, top);
      if (next) return { kind: 'too-long', page: next };
      if (before && showsSame(before, ids)) return { kind: 'whole' };
      before = ids;
      continue;
    }
    if (top.lastPage > most) {
      const page = number === most ? top : await pageUnlessGone(reading, query, most);
      if (page) return { kind: 'too-long', page, lastPage: top.lastPage };
    }
    if (top.lastPage !== number) {
      lookAt(top.lastPage);
      continue;
    }
    if (number === 1) {
      await reading.take(top);
      if (top.ids.length > 0 || before?.length === 0) return { kind: 'whole' };
      before = [];
      continue;
    }

    const pages = await readDown(reading, query, number, top);
    const end = pages && (await pageUnlessGone(reading, query, number));
    if (!pages || end?.lastPage !== number) {
      before = undefined;
      lookAt(end?.lastPage);
      continue;
    }
    const ids = pages.flatMap((page) => page.ids);
    for (const id of [...ids, ...end.ids]) seen.add(id);
    if (!showsSame(end.ids, top.ids)) await reading.take(end);
    size = Math.max(size, ...pages.map(recordsOn));
    // The service counts what it hides, and it counts at least one record on its last page.
    if (end.ids.length > 0 && seen.size >= (number - 1) * size + recordsOn(end)) return { kind: 'whole' };
    if (before && showsSame(before, ids)) return { kind: 'whole' };
    before = ids;
  }
  return { kind: 'changing' };
}

/**
 * A page; undefined where the list has become shorter.
 *
 * @throws UnreadableError where the service refuses a page that the list has.
 */
async function pageUnlessGone(reading: Reading, query: PageQuery, number: number): Promise<ListPage | undefined> {
  try {
    return await reading.page(query, number);
  } catch (error) {
    if (number === 1 || !isRefused(error)) throw error;
    const { lastPage = 1 } = await reading.page(query, 1);
    if (lastPage >= number) throw error;
    return undefined;
  }
}

/** Reads the pages from `top` down to page 1; undefined where the list became shorter meanwhile. */
async function readDown(reading: Reading, query: PageQuery, number: number, top: ListPage) {
  const pages = [top];
  await reading.take(top);
  for (let at = number - 1; at >= 1; at -= 1) {
    const page = await pageUnlessGone(reading, query, at);
    if (!page) return undefined;
    await reading.take(page);
    pages.push(page);
  }
  return pages;
}

/**
 * Reads upwards from page 1. A short page is no end, since a service may take hidden reviews off the pages that it has
 * cut. A page behind the end is empty, refused, or, with some services, the last page again.
 *
 * @returns the ids; `next`: the last certain page, where the list goes on behind it.
 * @throws UnreadableError where the service may refuse a page because of a record on it.
 */
async function readUp(
  reading: Reading,
  query: PageQuery,
  first: ListPage,
): Promise<{ ids: string[]; next?: ListPage }> {
  const ids: string[] = [];
  let size = 0;
  let page = first;
  for (let number = 1; ; number += 1) {
    await reading.take(page);
    ids.push(...page.ids);
    size = Math.max(size, recordsOn(page));
    if (page.ids.length === 0) return { ids };
    let next: ListPage;
    try {
      next = await reading.page(query, number + 1);
    } catch (error) {
      const isShort = recordsOn(page) < size || size <= Math.max(1, limitsOf(reading.deps).pageSize * shortPage);
      if (!isRefused(error) || !(isShort || (await endsFull(reading, query, number, size)))) throw error;
      return { ids };
    }
    if (next.ids.length === 0 || next.ids.join() === page.ids.join()) return { ids };
    if (number === lastCertainPage(reading)) return { ids, next: page };
    page = next;
  }
}

/** No service is known whose own pages are this part of what was asked for: a list without a larger page is short. */
const shortPage = 0.1;

/**
 * Whether a list ends with this full page, behind which the service refuses the next one. Pages that are smaller by one
 * are cut elsewhere: a list of 300 records ends with 3 on page 4 of 99.
 */
async function endsFull(reading: Reading, query: PageQuery, number: number, size: number): Promise<boolean> {
  if (size - 1 <= number || number === limitsOf(reading.deps).pages) return false;
  const rest = await reading.page(query, number + 1, size - 1);
  return rest.ids.length > 0 && recordsOn(rest) <= number;
}

const isRefused = (error: unknown) => error instanceof UnreadableError && error.kind === 'refused';

const recordsOn = (page: ListPage): number => new Set(page.ids).size;

/** Whether two readings showed the same records, each of them once. */
function showsSame(one: readonly string[], other: readonly string[]): boolean {
  const both = new Set([...one, ...other]);
  return [one, other].every((ids) => ids.length === both.size && new Set(ids).size === both.size);
}
