import { type Page, type PageDeps, type PageQuery, totalOf } from './page.ts';
import { type AllPages, readAllPages } from './read-all-pages.ts';

export type Dense = {
  /** Whether it is certain that everything was read. */
  isComplete: boolean;
  ids: ReadonlySet<string>;
  reviews: number;
  /** How many records there are, where the service tells. */
  total: number | undefined;
};

type Reading = {
  deps: PageDeps;
  query: PageQuery;
  emit: (pages: [Page, ...Page[]]) => Promise<void>;
  /** What was met, and where its date puts it. */
  met: Map<string, boolean>;
  /** Whether something was added or deleted meanwhile. */
  changed?: boolean;
};

/** Zero is "reviews without rating" (spec, "List reviews"). */
const scores = [5, 4, 3, 2, 1, 0] as const;
/** Readings of the whole moment, where it changed meanwhile. */
const attemptsAtMost = 3;
/** Products asked for one by one where nothing else tells records apart. */
const productsAtMost = 5000;

/**
 * Reads a moment that holds more than thirty pages show: by score; where one score still overflows, from both ends;
 * where they do not meet, photo reviews alone, then product by product. It is complete where each part is, or where the
 * service's own count was reached. What was met goes to `emit` in any case.
 *
 * @param first what a reading without filters has brought already.
 */
export async function readDense(
  deps: PageDeps,
  query: PageQuery,
  first: AllPages,
  emit: (pages: [Page, ...Page[]]) => Promise<void>,
): Promise<Dense> {
  const reading: Reading = { deps, query, emit, met: new Map() };
  note(reading, first.pages);
  let isComplete = false;
  let whole = first;
  for (let attempt = 1; !isComplete && attempt <= attemptsAtMost; attempt += 1) {
    // What was deleted since the first reading would look as if no score had it.
    if (attempt > 1) whole = await read(reading, query, { once: true });
    isComplete = await readScores(reading, whole);
    if (!reading.changed) break;
    reading.changed = false;
  }
  const total = await totalOf(deps, query);
  const reviews = [...reading.met.values()].filter((isWithin) => isWithin).length;
  return { isComplete, ids: new Set(reading.met.keys()), reviews, total };
}

async function readScores(reading: Reading, whole: AllPages): Promise<boolean> {
  const { deps, query } = reading;
  const before = await totalOf(deps, query);
  const met = new Set<string>();
  let areAllComplete = true;
  for (const score of scores) {
    const part = await readScore(reading, { ...query, score });
    for (const id of part.ids) met.add(id);
    areAllComplete &&= part.isComplete;
  }
  const after = await totalOf(deps, query);
  // A score that no filter knows would be in none of the parts, but may be at one end of the whole.
  const ends = [...whole.ids];
  if (areAllComplete && after === undefined)
    ends.push(...(await read(reading, { ...query, desc: true }, { once: true })).ids);
  const isMissed = ends.some((id) => !met.has(id)) || (after !== undefined && met.size < after);
  reading.changed ||= before !== after || (areAllComplete && isMissed);
  return areAllComplete && !isMissed;
}

async function readScore(reading: Reading, query: PageQuery): Promise<{ ids: Set<string>; isComplete: boolean }> {
  const up = await read(reading, query);
  if (up.settled && !up.overflow) return { ids: up.all, isComplete: true };
  const down = await read(reading, { ...query, desc: true });
  const both = new Set([...up.all, ...down.all]);
  if (up.settled && down.settled && meet(up.ids, down.ids)) return { ids: both, isComplete: true };

  const products = [...up.pages, ...down.pages].flatMap((page) => page.products.map((one) => one.product_id));
  return readFiltered(reading, query, { both, products: new Set(products) });
}

/**
 * By what else tells records apart. None of it is certain to have every record, so it is complete only where the service
 * counts as many as were met since, and counts them alike before and after: else something was deleted meanwhile.
 */
async function readFiltered(
  reading: Reading,
  query: PageQuery,
  { both, products }: { both: Set<string>; products: ReadonlySet<number> },
): Promise<{ ids: Set<string>; isComplete: boolean }> {
  const total = await totalOf(reading.deps, query);
  const met = new Set<string>();
  const isReached = () => total !== undefined && met.size >= total;
  const filters: Partial<PageQuery>[] = total === undefined ? [] : [{}, { desc: true }];
  filters.push({ photo: true }, { photo: true, desc: true });
  for (const productId of [...products].slice(0, productsAtMost)) filters.push({ productId });
  for (const filter of filters) {
    if (isReached()) break;
    const part = await read(reading, { ...query, ...filter });
    for (const id of part.all) met.add(id);
    if (!part.overflow || filter.productId === undefined) continue;
    const end = await read(reading, { ...query, ...filter, desc: true });
    for (const id of end.all) met.add(id);
  }
  const after = total === undefined ? undefined : await totalOf(reading.deps, query);
  reading.changed ||= after !== total;
  return { ids: new Set([...both, ...met]), isComplete: total !== undefined && met.size === total && after === total };
}

async function read(reading: Reading, query: PageQuery, options?: { once: boolean }): Promise<AllPages> {
  const all = await readAllPages(reading.deps, query, options);
  note(reading, all.pages);
  await reading.emit(all.pages);
  return all;
}

function note({ met, query }: Reading, pages: readonly Page[]): void {
  for (const page of pages) {
    for (const [index, id] of page.ids.entries()) {
      const second = page.seconds[index];
      met.set(id, second === undefined || (second >= query.span.start && second < query.span.end));
    }
  }
}

/**
 * Whether a list read upwards and downwards is whole: what both saw is the end of each, in opposite order. A service
 * that sorts records of one date alike both ways does not get past this.
 */
export function meet(up: readonly string[], down: readonly string[]): boolean {
  const above = new Set(down);
  const common = up.filter((id) => above.has(id)).length;
  if (common === 0) return false;
  const tail = up.slice(-common);
  return down.slice(-common).every((id, index) => id === tail[common - 1 - index]);
}
