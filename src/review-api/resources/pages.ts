import type { HttpResponse } from '../http/call.ts';
import { lastPage } from '../http/link-header.ts';
import { asArray, parseJson, ShapeError, TooLargeError } from '../http/response-body.ts';
import { MalformedResponseError } from '../review-api-errors.ts';

/** One page of a list. `lastPage` is undefined where the response has no `Link` header. */
export type Page<Item> = { items: Item[]; lastPage: number | undefined };

/** Reads a page whose items are checked by `shape`. */
export function readPage<Item>(shape: (value: unknown) => Item): (response: HttpResponse) => Page<Item> {
  return (response) => ({
    items: asArray(parseJson(response), 'a list').map((item, index) => shaped(item, index, shape)),
    lastPage: lastPage(response.headers.link),
  });
}

/** Adds the number of the item to the error. */
function shaped<Item>(item: unknown, index: number, shape: (value: unknown) => Item): Item {
  try {
    return shape(item);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const Kind = error instanceof TooLargeError ? TooLargeError : ShapeError;
    throw new Kind(`item ${index + 1} of the list: ${error.message}`);
  }
}

/**
 * All pages of a list: up to the last page of the `Link` header, or, without that header, until a page is short.
 *
 * @param most the highest page number that the service serves.
 * @throws MalformedResponseError for a page that repeats the page before it: the service ignores the page parameter, so
 *   the rest of the list cannot be read.
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
      throw new MalformedResponseError({ method: 'GET', path, detail: `page ${number} repeats the page before it` });
    }
    yield page;
    const more = page.lastPage === undefined ? page.items.length >= limit : number < page.lastPage;
    if (!more || page.items.length === 0 || number >= most) return;
    before = ids;
  }
}
