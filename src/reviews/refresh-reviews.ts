import pLimit from 'p-limit';
import type { Counts } from '../counts.ts';
import { describeError } from '../errors.ts';
import { NotFoundError, RefusedError, type ReviewApi } from '../review-api/index.ts';
import { type Second, type Span, secondOf } from '../span.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { notHeld } from '../warehouse/one-review.ts';
import { learnProducts } from '../warehouse/products.ts';
import { landOne, landPage, nothingComplete } from '../warehouse/reviews.ts';
import { readSpan } from './read-span.ts';
import type { ReadDeps } from './span-run.ts';

export type RefreshDeps = ReadDeps & { reviews: Pick<ReviewApi['reviews'], 'page' | 'getRaw'>; warehouse: Warehouse };

/** A review that is said to have changed; `precise`: the date is told to the millisecond. */
export type Hint = { id: number; updatedAt: Date | undefined; precise: boolean };

export type Refreshed = { counts: Counts; refused: { id: number; reason: string }[] };

/** Updates that are no farther apart are read in one span. */
const apartSeconds = 30;
/** What was changed within one span, at the most: far less than a window may be long. */
const longestSeconds = 86_400;
const requestsAtATime = 8;

/**
 * Brings in what is said to have changed. First from the list, by the dates told: a hundred at a time, and a list shows
 * more fields than a single review. What is not listed there (it changed again, it is hidden) is read by its id. What
 * the warehouse holds in this version or a newer one costs no request.
 *
 * @throws the client's errors where the service does not answer; running it again does no harm.
 */
export async function refreshReviews(deps: RefreshDeps, hints: readonly Hint[]): Promise<Refreshed> {
  const wanted = await notHeld(deps.warehouse.db, hints);
  const counts = { hints: hints.length, held: hints.length - wanted.length, gone: 0, ...noneLanded };
  const missing = new Map(wanted.map((hint) => [String(hint.id), hint.id]));
  for (const span of spansOf(wanted)) addTo(counts, await fromList(deps, span, missing));
  const refused: Refreshed['refused'] = [];
  const limit = pLimit(requestsAtATime);
  const byId = async (id: number) => {
    deps.signal.throwIfAborted();
    try {
      const { rawBody, item } = await deps.reviews.getRaw(id);
      await learnProducts(deps.warehouse, [{ product_id: item.product_id, product_code: item.product_code }]);
      addTo(counts, await landOne(deps.warehouse, rawBody));
    } catch (error) {
      if (error instanceof NotFoundError) counts.gone += 1;
      else if (error instanceof RefusedError) refused.push({ id, reason: describeError(error) });
      else throw error;
    }
  };
  const ends = await Promise.allSettled([...missing.values()].map((id) => limit(() => byId(id))));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return { counts, refused };
}

const noneLanded = { inserted: 0, updated: 0, refused: 0 };

function addTo(counts: typeof noneLanded, landed: typeof noneLanded): void {
  for (const kind of ['inserted', 'updated', 'refused'] as const) counts[kind] += landed[kind];
}

/** Lands the pages of the span that show any of the missing, and takes those off the list. */
async function fromList(deps: RefreshDeps, span: Span, missing: Map<string, number>) {
  const counts = { ...noneLanded };
  await readSpan(
    deps,
    { axis: 'updated', span },
    {
      async land({ pages }) {
        for (const { rawBody, ids, products } of pages) {
          if (!ids.some((id) => missing.has(id))) continue;
          await learnProducts(deps.warehouse, products);
          addTo(counts, await landPage(deps.warehouse, { rawBody, count: ids.length }, nothingComplete));
          for (const id of ids) missing.delete(id);
        }
      },
      revoke: async () => {},
    },
  );
  return counts;
}

/** Spans that hold all the dates told, the second after each included; dates that lie close share one. */
function spansOf(hints: readonly Hint[]): Span[] {
  const seconds = hints.flatMap(({ updatedAt }) => (updatedAt ? [secondOf(updatedAt)] : [])).sort((a, b) => a - b);
  const spans: { start: Second; end: Second }[] = [];
  for (const second of seconds) {
    const last = spans.at(-1);
    if (last && second - last.end <= apartSeconds && second - last.start < longestSeconds) last.end = second + 1;
    else spans.push({ start: second, end: second + 1 });
  }
  return spans;
}
