import { formatCount } from '../../base/counts.ts';
import type { Second, Span } from '../../base/time/span.ts';
import type { Axis, GapKind } from '../../warehouse/reviews/coverage.ts';
import { limitsOf, pageSizeOf, type ReadDeps } from '../review-deps.ts';
import { cutSpan, middleOf } from '../windows.ts';
import type { ListPage, PageQuery } from './list-page.ts';
import {
  isRising,
  type Land,
  type ListEnd,
  openReader,
  type Part,
  type Proven,
  type Reader,
  readList,
  takeAll,
} from './read-list.ts';

/** How the reading of a span ends. `proven`: the whole span was read, and has landed. */
export type SpanEnd = { requests: number } & (({ kind: 'proven' } & Proven) | Unread);

/** Why a span is not proven: an open gap, unless it can be read in `parts` (undefined: halves; empty: not at all). */
export type Unread = { kind: GapKind; reason: string; parts?: readonly Part[] };

/** Reads the span in these parts. If the window has no requests left for them, the span is a gap for this reason. */
export const inParts = (parts: readonly Part[]): Unread => {
  return { kind: 'too-many', reason: 'they take too many requests for one run', parts };
};

/**
 * Reads a span by the page numbers of its list.
 *
 * @param land lands a page. When this returns or throws, all pages that were taken have landed or failed to.
 * @throws the client's error if the service is down, and errors of `land`.
 */
export async function readSpan(deps: ReadDeps, axis: Axis, part: Part, land: Land): Promise<SpanEnd> {
  const { span, giveUpAfterMs } = part;
  const { lists } = deps;
  const reader = openReader({ ...deps, giveUpAfterMs }, span, land);
  // Lists of the longest span have about the same number of pages. Other lists are shorter.
  const isLong = span.end - span.start > limitsOf(deps).seconds / 2;
  try {
    const query = { axis, span };
    let end: ListEnd | Unread = await readList(reader, query, { guess: isLong ? lists.lastPageGuess : 1, ...part });
    if (isLong && end.kind === 'too-long') lists.lastPageGuess = reader.lastCertain;
    if (end.kind === 'too-long') end = await cutList(reader, query, end);
    if (end.kind === 'whole' && reader.isOfOtherDates())
      end = { kind: 'unproven', reason: 'the list shows reviews of other dates' };
    const proven = reader.proven();
    if (end.kind !== 'whole') return { ...end, requests: proven.requests };
    if (isLong) lists.lastPageGuess = proven.pages;
    return { kind: 'proven', ...proven };
  } finally {
    await reader.landed();
  }
}

/** Cuts the span in two by a date of the page. If it is the shortest span of a request, reads it at once instead. */
async function cutList(
  reader: Reader,
  query: PageQuery,
  { page, pages }: Extract<ListEnd, { kind: 'too-long' }>,
): Promise<{ kind: 'whole' } | Unread> {
  const { deps, lastCertain, span } = reader;
  if (page && !page.seconds.some((second) => second !== undefined)) {
    return { kind: 'failed', reason: 'a page shows none of these dates' };
  }
  const at = page && dateOn(page, span);
  const [first, second] = cutSpan(span, at ?? middleOf(span), deps.timeZone);
  if (!first || !second) return readCrowd(reader, query);
  if (pages === undefined) return inParts([{ span: first }, { span: second }]);
  // The list of the first part begins like this list, so this page is its last one.
  const last = page && at !== undefined ? pageBefore(page, first.end) : undefined;
  return inParts([
    { span: first, guess: lastCertain, last },
    { span: second, guess: pages - lastCertain },
  ]);
}

/**
 * A date of the page at which to cut, if possible one that has all its records on this page or before. Undefined if the
 * list is not in order, or the page has no date of the span.
 */
function dateOn(page: ListPage, span: Span): Second | undefined {
  const dated = page.seconds.filter((second) => second !== undefined);
  const at = dated.findLast((second) => second > span.start && second < (dated.at(-1) ?? 0)) ?? dated[0];
  if (at === undefined || !isRising(dated)) return undefined;
  // A list includes the second in which its span ends. If that second is crowded, cut one second before it.
  return Math.min(Math.max(at, span.start), span.end - 1);
}

/** The page with only its records before the second. Undefined if there are none, or no later record follows. */
function pageBefore(page: ListPage, end: Second): ListPage | undefined {
  if ((page.seconds.at(-1) ?? 0) < end) return undefined;
  const isBefore = (_: unknown, index: number) => (page.seconds[index] ?? end) < end;
  const ids = page.ids.filter(isBefore);
  return ids.length === 0 ? undefined : { ...page, ids, strays: [], seconds: page.seconds.filter(isBefore) };
}

/** Zero is "reviews without rating" (docs/interface.md, "Reviews"). */
const scores = [5, 4, 3, 2, 1, 0] as const;
/** Products to request one by one if a score has too many records in a second. */
const productsAtMost = 5000;

/**
 * Reads the shortest span of a request if its list is too long: by score, and if a score's list is too long, by
 * product. The pages show which products there are. The service's count says whether these are all.
 */
async function readCrowd(reader: Reader, query: PageQuery): Promise<{ kind: 'whole' } | Unread> {
  const { pages } = limitsOf(reader.deps);
  const pageSize = pageSizeOf(reader.deps);
  let isWhole = true;
  for (const score of scores) {
    const ofScore = { ...query, score };
    const end = await readList(reader, ofScore);
    if (end.kind === 'refused' || end.kind === 'failed') return end;
    if (end.kind === 'whole') continue;
    const numbers = Array.from({ length: pages }, (_, index) => index + 1);
    const shown = await takeAll(reader, ofScore, numbers, pageSize, reader.deps.lists.slots);
    if ('kind' in shown && shown.kind === 'failed') return shown;
    for (const productId of [...reader.products].slice(0, productsAtMost)) {
      const ofProduct = await readList(reader, { ...ofScore, productId });
      if (ofProduct.kind === 'refused' || ofProduct.kind === 'failed') return ofProduct;
      if (ofProduct.kind === 'whole') continue;
      isWhole = false;
      // The service ignores the product.
      if (ofProduct.page?.check.products.some(({ product_id }) => product_id !== productId)) break;
    }
  }
  // With one record a page, the last page is the count. A number up to the maximum page may be a cap.
  const one = await reader.ask(query, 1, 1);
  if (one.kind !== 'page') return one;
  const total = one.ids.length === 1 && (one.lastPage ?? 0) > pages ? one.lastPage : undefined;
  const seen = reader.seenCount();
  if (isWhole && total !== undefined && seen >= total) return { kind: 'whole' };
  const read = formatCount(seen);
  if (total === undefined && seen <= reader.lastCertain * pageSize)
    return { kind: 'unproven', reason: `nothing proves that the ${read} reviews that were read are all` };
  const held = total === undefined ? 'more' : `${formatCount(total)}, more`;
  return { kind: 'too-many', reason: `the service holds ${held} than any query can reach (${read} were read)` };
}
