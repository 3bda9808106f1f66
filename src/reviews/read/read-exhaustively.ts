import { isoOf, type Span, shortestEnd } from '../../base/time/span.ts';
import { type PageQuery, totalOf } from './list-page.ts';
import { type AllPages, readPages } from './read-pages.ts';
import type { End, Reading } from './reading.ts';
import type { Axis } from './window.ts';

/** Zero is "reviews without rating" (docs/interface.md, "Reviews"). */
const scores = [5, 4, 3, 2, 1, 0] as const;
/** Readings of all scores of a second, where the list changed meanwhile. */
const attemptsAtMost = 3;
/** Products requested one by one where score and both ends do not separate the records. */
const productsAtMost = 5000;

/**
 * Reads a span that cannot be walked, because its list is not sorted or one second fills a page:
 *
 * 1. all pages by their numbers, until two readings agree. That is enough up to thirty pages.
 * 2. A longer span is halved.
 * 3. The shortest span that can be asked for is read by score,
 * 4. each score that still overflows from both ends, until they meet;
 * 5. where they do not, product by product, until the service's own count is reached.
 *
 * Every page lands, whether or not the span turns out complete.
 */
export async function readExhaustively(reading: Reading): Promise<End> {
  const { deps, axis, span } = reading;
  const query: PageQuery = { axis, span };
  const work: ExhaustiveReading = { reading, query, seen: new Set(), changed: false };
  const whole = await read(work, query, { once: true });
  // What was not asked for is no reason to look for more of it.
  if (reading.outOfRange !== undefined) return { kind: 'reread', todos: [] };
  if (whole.settled && !whole.overflow) return { kind: 'proven' };
  const halves = halvesOf(span, deps.timeZone);
  if (halves.length > 0) return { kind: 'reread', todos: halves.map((half) => ({ span: half, how: 'pages' })) };
  if (await readByFilters(work, whole)) return { kind: 'proven' };
  const reason = tooManyReason(axis, span, work.seen.size, await totalOf(deps, query));
  return { kind: 'too-many', reason };
}

/** The span in two; none where it is the shortest that can be asked for. */
export function halvesOf({ start, end }: Span, zone: string): Span[] {
  const middle = Math.max(start, start + Math.floor((end - start) / 2) - 1);
  // The middle may lie in the hour that daylight saving repeats, which would leave the second half empty.
  const at = [shortestEnd(middle, zone), shortestEnd(start, zone)].find((second) => second < end);
  if (at === undefined) return [];
  return [
    { start, end: at },
    { start: at, end },
  ];
}

type ExhaustiveReading = {
  reading: Reading;
  query: PageQuery;
  /** Every id that any of the readings showed. */
  seen: Set<string>;
  /** Whether something was added or deleted meanwhile. */
  changed: boolean;
};

async function readByFilters(work: ExhaustiveReading, first: AllPages): Promise<boolean> {
  let whole = first;
  for (let attempt = 1; attempt <= attemptsAtMost; attempt += 1) {
    // What was deleted since the first reading would look as if no score had it.
    if (attempt > 1) whole = await read(work, work.query, { once: true });
    work.changed = false;
    if (await readScores(work, whole)) return true;
    if (!work.changed) break;
  }
  return false;
}

async function readScores(work: ExhaustiveReading, whole: AllPages): Promise<boolean> {
  const { query } = work;
  const before = await totalOf(work.reading.deps, query);
  const seen = new Set<string>();
  let areAllComplete = true;
  for (const score of scores) {
    const part = await readScore(work, { ...query, score });
    for (const id of part.ids) seen.add(id);
    areAllComplete &&= part.isComplete;
  }
  const after = await totalOf(work.reading.deps, query);
  // A score that no filter knows is in none of the parts, but may be at one end of the whole.
  const ends = [...whole.ids];
  if (areAllComplete && after === undefined)
    ends.push(...(await read(work, { ...query, desc: true }, { once: true })).ids);
  const isMissed = ends.some((id) => !seen.has(id)) || (after !== undefined && seen.size < after);
  work.changed ||= before !== after || (areAllComplete && isMissed);
  return areAllComplete && !isMissed;
}

type ScoreReading = { ids: Set<string>; isComplete: boolean };

async function readScore(work: ExhaustiveReading, query: PageQuery): Promise<ScoreReading> {
  const up = await read(work, query);
  if (up.settled && !up.overflow) return { ids: up.all, isComplete: true };
  const down = await read(work, { ...query, desc: true });
  const both = new Set([...up.all, ...down.all]);
  if (up.settled && down.settled && upAndDownComplete(up.ids, down.ids)) return { ids: both, isComplete: true };

  const products = [...up.pages, ...down.pages].flatMap((page) => page.check.products.map((one) => one.product_id));
  return readFiltered(work, query, { both, products: new Set(products) });
}

/**
 * Reads by the remaining filters. No filter is certain to cover every record, so the result is complete only where the
 * service counts as many records as were seen, before and after alike: otherwise something was deleted meanwhile.
 */
async function readFiltered(
  work: ExhaustiveReading,
  query: PageQuery,
  { both, products }: { both: Set<string>; products: ReadonlySet<number> },
): Promise<ScoreReading> {
  const { deps } = work.reading;
  const total = await totalOf(deps, query);
  const seen = new Set<string>();
  const isReached = () => total !== undefined && seen.size >= total;
  const filters: Partial<PageQuery>[] = total === undefined ? [] : [{}, { desc: true }];
  for (const productId of [...products].slice(0, productsAtMost)) filters.push({ productId });
  for (const filter of filters) {
    if (isReached()) break;
    const part = await read(work, { ...query, ...filter });
    for (const id of part.all) seen.add(id);
    if (!part.overflow || filter.productId === undefined) continue;
    const end = await read(work, { ...query, ...filter, desc: true });
    for (const id of end.all) seen.add(id);
  }
  const after = total === undefined ? undefined : await totalOf(deps, query);
  work.changed ||= after !== total;
  return {
    ids: new Set([...both, ...seen]),
    isComplete: total !== undefined && seen.size === total && after === total,
  };
}

async function read(
  { reading, seen }: ExhaustiveReading,
  query: PageQuery,
  options?: { once: boolean },
): Promise<AllPages> {
  const all = await readPages(reading.deps, query, options);
  for (const page of all.pages) await reading.take(page);
  for (const id of all.all) seen.add(id);
  return all;
}

/**
 * Whether a list read upwards and downwards is whole: what both showed is the end of each, in opposite order. A service
 * that sorts records of one date alike both ways does not pass.
 */
export function upAndDownComplete(up: readonly string[], down: readonly string[]): boolean {
  const above = new Set(down);
  const common = up.filter((id) => above.has(id)).length;
  if (common === 0) return false;
  const tail = up.slice(-common);
  return down.slice(-common).every((id, index) => id === tail[common - 1 - index]);
}

export const spanText = ({ start, end }: Span) =>
  end === start + 1 ? isoOf(start) : `${isoOf(start)} to ${isoOf(end)}`;

function tooManyReason(axis: Axis, span: Span, read: number, total: number | undefined): string {
  const held = total === undefined ? 'more reviews' : `${total.toLocaleString('en')} reviews, more`;
  return (
    `The service holds ${held} ${axis} at ${spanText(span)} than any query can reach ` +
    `(${read.toLocaleString('en')} were read)`
  );
}
