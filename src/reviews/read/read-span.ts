import {
  intersection,
  isoOf,
  localPeriod,
  type Second,
  type Span,
  shortestEnd,
  without,
} from '../../base/time/span.ts';
import { fetchPage, isSorted, type ListPage, limitsOf, type PageQuery, pageIfAny, totalOf } from './list-page.ts';
import { lastCertainPage, readBefore, readList, type Start } from './read-list.ts';
import type { Reading } from './reading.ts';

/** A span to be read; `start`: where its list is expected to end. */
export type Part = Readonly<{ span: Span; start?: Start }>;

/**
 * How the reading of a span ends.
 *
 * - `proven`: everything of the span was read.
 * - `split`: it is to be read in these parts.
 * - `too-many`, `unproven`: it cannot be read whole; the reason is a sentence.
 */
export type SpanEnd =
  | { kind: 'proven' }
  | { kind: 'split'; parts: Part[] }
  | { kind: 'too-many' | 'unproven'; reason: string };

/** Zero is "reviews without rating" (docs/interface.md, "Reviews"). */
const scores = [5, 4, 3, 2, 1, 0] as const;
/** Products that are requested one by one where a score does not separate the records of a second. */
const productsAtMost = 5000;

/**
 * Reads a span by the page numbers of its list. A list that is too long is cut where its last certain page is. The
 * shortest span that can be asked for is read by score, and a score by product.
 */
export async function readSpan(reading: Reading, start?: Start): Promise<SpanEnd> {
  const { axis, span } = reading;
  const query: PageQuery = { axis, span };
  const end = await readList(reading, query, start);
  if (end.kind === 'whole') return { kind: 'proven' };
  if (end.kind === 'changing') {
    // Records are added to the end of a list that reaches into the present.
    const at = reading.settledAt();
    if (span.start < at && at < span.end) return split(without(span, [{ start: at, end: at }]));
    return { kind: 'unproven', reason: `The list of the reviews ${axis} at ${spanText(span)} changed at each reading` };
  }
  const { page } = end;
  reading.outOfRange ??= page.outOfRange;
  // What was not asked for is no reason to look for more of it.
  if (reading.outOfRange !== undefined) return split([]);
  if (isSorted(page.seconds)) {
    const isBehind = page.seconds.some((second) => second !== undefined && second >= span.end);
    if (isBehind && (await readBefore(reading, query, span.end)).kind === 'whole') return { kind: 'proven' };
    const parts = partsAround(reading, end);
    if (parts.length > 1) return { kind: 'split', parts };
  }
  const halves = halvesOf(span, reading.deps.timeZone);
  return halves.length > 0 ? split(halves) : readCrowd(reading, query, page);
}

const split = (spans: readonly Span[]): SpanEnd => ({ kind: 'split', parts: spans.map((span) => ({ span })) });

/**
 * Cuts a span in the middle of the last certain page of its list, which is in order: what the page shows of the first
 * part is known then. A second that fills the page, or an hour that daylight saving repeats, is a part of its own.
 */
function partsAround(reading: Reading, { page, lastPage }: { page: ListPage; lastPage: number | undefined }): Part[] {
  const { span, deps } = reading;
  const most = lastCertainPage(reading);
  const seconds = page.seconds.filter((second) => second !== undefined);
  const dated = seconds.filter((second) => second >= span.start && second < span.end);
  const cut = dated.findLast((second) => second > span.start && second < (seconds.at(-1) ?? 0));
  const at = cut ?? dated[0];
  if (at === undefined) return [];
  const shortest = shortestAround(at, deps.timeZone);
  if (cut !== undefined && shortest.end === cut + 1) {
    const isKnown = (second: Second | undefined) => second !== undefined && second < cut;
    const known = page.ids.filter((_, index) => isKnown(page.seconds[index]));
    const rest = Math.min(most, Math.max(1, (lastPage ?? 1) - most));
    return [
      { span: { start: span.start, end: cut }, start: { number: most, known, page } },
      { span: { start: cut, end: span.end }, start: { number: rest } },
    ];
  }
  const within = intersection(shortest, span);
  return within ? [...without(span, [within]), within].map((one) => ({ span: one })) : [];
}

/** The shortest span around a second that can be asked for: that second, or the hour that daylight saving repeats. */
function shortestAround(at: Second, zone: string): Span {
  const { first, last } = localPeriod({ start: at, end: at + 1 }, zone);
  if (last === at + 1 && first === at) return { start: at, end: at + 1 };
  // Clocks are set back at full and half hours.
  return { start: Math.ceil(first / halfHour) * halfHour, end: Math.floor(last / halfHour) * halfHour };
}
const halfHour = 1800;

/** The span in two; none where it is the shortest that can be asked for. */
export function halvesOf({ start, end }: Span, zone: string): Span[] {
  const middle = Math.max(start, start + Math.floor((end - start) / 2) - 1);
  // The middle may lie in the hour that daylight saving repeats, which would leave the second half empty.
  const at = [shortestEnd(middle, zone), shortestEnd(start, zone)].find((second) => second < end);
  return at === undefined
    ? []
    : [
        { start, end: at },
        { start: at, end },
      ];
}

/**
 * Reads the shortest span that can be asked for, whose list is too long: by score, and a score whose list is too long
 * by product. Products are those that the pages of the score show; only the service's count says that these are all.
 */
async function readCrowd(reading: Reading, query: PageQuery, shown: ListPage): Promise<SpanEnd> {
  let isByProduct = false;
  let areWhole = true;
  const readPart = async (part: PageQuery) => {
    const { kind } = await readList(reading, part);
    if (kind !== 'whole') areWhole = false;
  };
  for (const score of scores) {
    const part = { ...query, score };
    if ((await readList(reading, part)).kind === 'whole') continue;
    isByProduct = true;
    for (const productId of await productsOf(reading, part)) await readPart({ ...part, productId });
  }
  const total = await totalOf(reading.deps, query);
  const { seen } = reading;
  // Without a count, a score that no filter knows is found out where the list begins or ends with it.
  const other = total === undefined ? (await fetchPage(reading.deps, { ...query, desc: true }, 1)).ids : [];
  const isCounted = total === undefined ? !isByProduct : seen.size >= total;
  const isShown = isCounted && [...shown.ids, ...other].every((id) => seen.has(id));
  if (areWhole && isShown) return { kind: 'proven' };
  const held = total === undefined ? 'more reviews' : `${total.toLocaleString('en')} reviews, more`;
  const reason =
    `The service holds ${held} ${query.axis} at ${spanText(query.span)} than any query can reach ` +
    `(${seen.size.toLocaleString('en')} were read)`;
  return { kind: 'too-many', reason };
}

/** Lands all pages that the service gives of a list. @returns the products that they name. */
async function productsOf(reading: Reading, query: PageQuery): Promise<number[]> {
  const products = new Set<number>();
  for (let number = 1; number <= limitsOf(reading.deps).pages; number += 1) {
    const { page } = await pageIfAny(reading.deps, query, number);
    if (!page || page.ids.length === 0) break;
    await reading.take(page);
    for (const { product_id } of page.check.products) products.add(product_id);
  }
  return [...products].slice(0, productsAtMost);
}

export const spanText = ({ start, end }: Span) =>
  end === start + 1 ? isoOf(start) : `${isoOf(start)} to ${isoOf(end)}`;
