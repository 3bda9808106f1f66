import { formatCount } from '../../base/counts.ts';
import type { Second, Span } from '../../base/time/span.ts';
import type { Axis } from '../../warehouse/reviews/coverage.ts';
import { limitsOf, pageSizeOf, type ReadDeps } from '../review-deps.ts';
import type { ListPage, Obstacle, PageQuery } from './list-page.ts';
import { isRising, type ListEnd, readList } from './read-list.ts';
import { type Land, openReader, type Part, type Proven, type Reader } from './reader.ts';
import { cutSpan, middleOf } from './window.ts';

/**
 * How the reading of a span ends.
 *
 * - `proven`: everything of it was read, and has landed.
 * - `too-long`: its list has more pages than can be asked for, or no reading proves it; the parts in which it is to be read.
 * - `out-of-range`: its list shows reviews of another period.
 * - `crowded`: the shortest span that can be asked for holds more reviews than any query can reach.
 * - `changing`: no list of the shortest span that can be asked for is the same twice, or as the service counts.
 * - `doubted`: its list shows nothing, and the service says elsewhere that there is a review.
 */
export type SpanEnd = { requests: number } & (
  | ({ kind: 'proven' } & Proven)
  | { kind: 'too-long'; parts: Part[] }
  | { kind: 'out-of-range' | 'crowded' | 'changing' | 'doubted'; reason: string }
  | Obstacle
);

export type UnprovenSpan = Exclude<SpanEnd, { kind: 'proven' }>;

/**
 * Reads a span by the page numbers of its list.
 *
 * @param land lands a page. All pages that were taken have landed, or failed to, when this returns or throws.
 * @throws the client's error where the service is down, and what `land` throws.
 */
export async function readSpan(deps: ReadDeps, axis: Axis, part: Part, land: Land): Promise<SpanEnd> {
  const { span, giveUpAfterMs } = part;
  const reader = openReader({ ...deps, giveUpAfterMs }, span, land);
  try {
    const query = { axis, span };
    const end = await readList(reader, query, part);
    const found = end.kind === 'too-long' ? await partsOf(reader, query, end) : end;
    const proven = reader.proven();
    const { requests } = proven;
    if (found.kind !== 'whole') return { ...found, requests };
    if (reader.isOfOtherDates())
      return { kind: 'out-of-range', requests, reason: 'the list shows reviews of other dates' };
    return { kind: 'proven', ...proven };
  } finally {
    await reader.landed();
  }
}

/** The span in two parts, cut by a date of the page; the shortest span that can be asked for is read at once. */
async function partsOf(
  reader: Reader,
  query: PageQuery,
  { page, pages }: Extract<ListEnd, { kind: 'too-long' }>,
): Promise<Crowd | { kind: 'too-long'; parts: Part[] }> {
  const { deps, lastCertain, span } = reader;
  if (page && !page.seconds.some((second) => second !== undefined)) {
    return { kind: 'failed', reason: 'a page shows none of these dates' };
  }
  const at = page && dateOn(page, span);
  const [first, second] = cutSpan(span, at ?? middleOf(span), deps.timeZone);
  if (!first || !second) return readCrowd(reader, query);
  if (pages === undefined) return { kind: 'too-long', parts: [{ span: first }, { span: second }] };
  // The list of the first part begins as this one does, so this page is its last one.
  const last = page && at !== undefined ? pageBefore(page, first.end) : undefined;
  const parts: Part[] = [
    { span: first, guess: lastCertain, last },
    { span: second, guess: pages - lastCertain },
  ];
  return { kind: 'too-long', parts };
}

/**
 * A date of the page: all of that second is on this page or before it, if that can be. Undefined if the list is
 * not in order, or the page has no date of the span.
 */
function dateOn(page: ListPage, span: Span): Second | undefined {
  const dated = page.seconds.filter((second) => second !== undefined);
  const last = dated.at(-1) ?? 0;
  const at = dated.findLast((second) => second > span.start && second < last) ?? dated[0];
  if (at === undefined || !isRising(dated)) return undefined;
  // A request asks for the second in which its span ends, too. If that second is crowded, the one before it is a part.
  return Math.min(Math.max(at, span.start), span.end - 1);
}

/** The page with its records before the second; undefined if it has none, or does not show what comes behind them. */
function pageBefore(page: ListPage, end: Second): ListPage | undefined {
  if ((page.seconds.at(-1) ?? 0) < end) return undefined;
  const isBefore = (_: unknown, index: number) => (page.seconds[index] ?? end) < end;
  const ids = page.ids.filter(isBefore);
  return ids.length === 0 ? undefined : { ...page, ids, strays: [], seconds: page.seconds.filter(isBefore) };
}

/** How the reading of the shortest span ends, if its list is too long. */
type Crowd = { kind: 'whole' } | { kind: 'crowded' | 'changing'; reason: string } | Obstacle;

/** Zero is "reviews without rating" (docs/interface.md, "Reviews"). */
const scores = [5, 4, 3, 2, 1, 0] as const;
/** Products that are requested one by one if a score does not separate the records of a second. */
const productsAtMost = 5000;

/**
 * Reads the shortest span that can be asked for, whose list is too long: by score, and a score by product if its list
 * is too long. Products are those that the pages of the score show. Whether these are all, the service's count says.
 */
async function readCrowd(reader: Reader, query: PageQuery): Promise<Crowd> {
  let isWhole = true;
  for (const score of scores) {
    const part = { ...query, score };
    const end = await readList(reader, part);
    if (end.kind === 'refused' || end.kind === 'failed') return end;
    if (end.kind === 'whole') continue;
    const products = await takePages(reader, part);
    if ('kind' in products) return products;
    for (const productId of products) {
      const ofProduct = await readList(reader, { ...part, productId });
      if (ofProduct.kind === 'refused' || ofProduct.kind === 'failed') return ofProduct;
      if (ofProduct.kind !== 'whole') isWhole = false;
    }
  }
  // With one record a page, the last page is the count; a number up to the greatest page may be a cap.
  const one = await reader.ask(query, 1, 1);
  if (one.kind !== 'page') return one;
  const total = one.ids.length === 1 && (one.lastPage ?? 0) > limitsOf(reader.deps).pages ? one.lastPage : undefined;
  if (isWhole && total !== undefined && reader.seenCount() >= total) return { kind: 'whole' };
  const read = formatCount(reader.seenCount());
  if (total === undefined && reader.seenCount() <= reader.lastCertain * pageSizeOf(reader.deps)) {
    return { kind: 'changing', reason: `nothing proves that the ${read} reviews that were read are all` };
  }
  const held = total === undefined ? 'more' : `${formatCount(total)}, more`;
  return { kind: 'crowded', reason: `the service holds ${held} than any query can reach (${read} were read)` };
}

/** Lands all pages that the service gives of a list. @returns the products that they name. */
async function takePages(reader: Reader, query: PageQuery): Promise<number[] | Obstacle> {
  const products = new Set<number>();
  for (let number = 1; number <= limitsOf(reader.deps).pages; number += 1) {
    const page = await reader.ask(query, number);
    if (page.kind === 'failed' || (page.kind === 'refused' && number === 1)) return page;
    if (page.kind === 'refused' || page.ids.length === 0) break;
    await reader.take(page);
    for (const { product_id } of page.check.products) products.add(product_id);
  }
  return [...products].slice(0, productsAtMost);
}
