import { asArray, parseJson, ShapeError } from './answer.ts';
import type { Answer } from './call.ts';
import { MalformedAnswerError } from './errors.ts';
import { lastPage } from './link-header.ts';

/** One page of a list. `lastPage` is undefined where the service does not tell it. */
export type Page<Item> = { items: Item[]; lastPage: number | undefined };

/** Reads a page whose items are checked by `shape`. */
export function readPage<Item>(shape: (value: unknown) => Item): (answer: Answer) => Page<Item> {
  return (answer) => ({
    items: asArray(parseJson(answer), 'a list').map((item, index) => shaped(item, index, shape)),
    lastPage: lastPage(answer.headers.link),
  });
}

/** Says which item of a page is not as expected. */
function shaped<Item>(item: unknown, index: number, shape: (value: unknown) => Item): Item {
  try {
    return shape(item);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw new ShapeError(`item ${index + 1} of the list: ${error.message}`);
  }
}

/**
 * All pages of a list from the first on: to the last page that is told, else until a page is short. A page that repeats
 * the one before means that the list cannot be paged: an error, since what lies behind it stays unread. `most`: the
 * greatest page there is to ask for.
 */
export async function* allPages<Item extends { id: number }>(
  path: string,
  limit: number,
  fetchPage: (page: number) => Promise<Page<Item>>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<Page<Item>, void, undefined> {
  let before = '';
  for (let number = 1; ; number += 1) {
    const page = await fetchPage(number);
    const ids = page.items.map((item) => item.id).join();
    if (ids !== '' && ids === before) {
      throw new MalformedAnswerError({ method: 'GET', path, words: `page ${number} repeats the page before it` });
    }
    yield page;
    const more = page.lastPage === undefined ? page.items.length >= limit : number < page.lastPage;
    if (!more || page.items.length === 0 || number >= most) return;
    before = ids;
  }
}
