import { formatCount } from '../../base/counts.ts';
import { localPeriod, type Second, type Span, shortestEnd } from '../../base/time/span.ts';
import { type ListPage, limitsOf, type PageQuery, UnreadableError } from './list-page.ts';
import { lastCertainPage, readList } from './read-list.ts';
import { type Reading, spanText } from './reading.ts';

/** A span to be read. `guess`: the page at which its list is expected to end. */
export type Part = Readonly<{ span: Span; guess?: number; giveUpAfterMs?: number }>;

/** Zero is "reviews without rating" (docs/interface.md, "Reviews"). */
const scores = [5, 4, 3, 2, 1, 0] as const;
/** Products that are requested one by one where a score does not separate the records of a second. */
const productsAtMost = 5000;

/**
 * Reads a span by the page numbers of its list. The shortest span that can be asked for is read by score, and a score by
 * product, where its list is too long.
 *
 * @returns the parts in which it is to be read, where its list is too long; none: the span is proven.
 * @throws UnreadableError where it cannot be read or proven.
 */
export async function readSpan(reading: Reading, guess?: number): Promise<Part[]> {
  const { axis, span, deps } = reading;
  const end = await readList(reading, { axis, span }, guess);
  if (end.kind === 'whole') return [];
  if (end.kind === 'changing') {
    const reason = `The list of the reviews ${axis} at ${spanText(span)} changed at each reading`;
    throw new UnreadableError('unproven', reason);
  }
  const most = lastCertainPage(reading);
  const [first, second] = cut(span, dateOn(end.page, span), deps.timeZone);
  if (first && second) {
    return [
      { span: first, guess: most },
      { span: second, guess: (end.lastPage ?? 1) - most },
    ];
  }
  await readCrowd(reading, { axis, span });
  return [];
}

/**
 * A date of the page: all of that second is on this page or before it, where that can be. The middle of the span where
 * the list is not in order.
 */
function dateOn(page: ListPage, span: Span): Second {
  const dated = page.seconds.filter((second) => second !== undefined);
  const last = dated.at(-1) ?? 0;
  const isSorted = dated.every((second, index) => second >= (dated[index - 1] ?? second));
  const at = dated.findLast((second) => second > span.start && second < last) ?? dated[0];
  if (at === undefined || !isSorted) return middleOf(span);
  // A request asks for the second in which its span ends, too. Where that one is crowded, the one before is a part.
  return Math.min(Math.max(at, span.start), span.end - 1);
}

const middleOf = ({ start, end }: Span): Second => start + Math.floor((end - start) / 2);

export const halvesOf = (span: Span, zone: string): Span[] => cut(span, middleOf(span), zone);

/**
 * The span in two, cut at the second, behind it, or beside the hour around it that daylight saving repeats; none where
 * it is the shortest span that can be asked for.
 */
function cut({ start, end }: Span, at: Second, zone: string): Span[] {
  // Clocks are set back at full and half hours.
  const repeated = Math.ceil(localPeriod({ start: at, end: at + 1 }, zone).first / halfHour) * halfHour;
  const cuts = [shortestEnd(at - 1, zone), Math.min(at, repeated), shortestEnd(at, zone)];
  const found = cuts.find((second) => second > start && second < end);
  return found === undefined
    ? []
    : [
        { start, end: found },
        { start: found, end },
      ];
}
const halfHour = 1800;

/**
 * Reads the shortest span that can be asked for, whose list is too long. Products are those that the pages of the score
 * show; only the service's count says that these are all.
 */
async function readCrowd(reading: Reading, query: PageQuery): Promise<void> {
  const { deps } = reading;
  let isByProduct = false;
  let isWhole = true;
  for (const score of scores) {
    const part = { ...query, score };
    if ((await readList(reading, part)).kind === 'whole') continue;
    isByProduct = true;
    for (const productId of await productsOf(reading, part)) {
      if ((await readList(reading, { ...part, productId })).kind !== 'whole') isWhole = false;
    }
  }
  // The last page where a page holds one record; a number up to the greatest page may be a cap.
  const { lastPage = 0, ids } = await reading.page(query, 1, 1);
  const total = ids.length === 1 && lastPage > limitsOf(deps).pages ? lastPage : undefined;
  const read = reading.proven().ids.size;
  if (isWhole && (total === undefined ? !isByProduct : read >= total)) return;
  const which = `reviews ${query.axis} at ${spanText(query.span)}`;
  const held = total === undefined ? `more ${which}` : `${formatCount(total)} ${which}, more`;
  throw new UnreadableError(
    'too-many',
    `The service holds ${held} than any query can reach (${formatCount(read)} were read)`,
  );
}

/** Lands all pages that the service gives of a list. @returns the products that they name. */
async function productsOf(reading: Reading, query: PageQuery): Promise<number[]> {
  const products = new Set<number>();
  for (let number = 1; number <= limitsOf(reading.deps).pages; number += 1) {
    const page = await reading.page(query, number);
    if (page.ids.length === 0) break;
    await reading.take(page);
    for (const { product_id } of page.check.products) products.add(product_id);
  }
  return [...products].slice(0, productsAtMost);
}
