import pLimit from 'p-limit';
import type { Counts } from '../base/counts.ts';
import { describeError } from '../base/errors.ts';
import { type Second, type Span, secondOf } from '../base/time/span.ts';
import { NotFoundError, RefusedError, type ReviewApi, ReviewApiError } from '../review-api/index.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { knownProductIds } from '../warehouse/orders/products.ts';
import { landOne, landPage } from '../warehouse/reviews/land-reviews.ts';
import { type Change, notHeld } from '../warehouse/reviews/one-review.ts';
import { fetchPage, isResponding } from './read/list-page.ts';
import { type ReadDeps, readSpans } from './read/read-spans.ts';
import { windowLimits } from './read/window.ts';

export type RefreshDeps = ReadDeps & { reviews: Pick<ReviewApi['reviews'], 'page' | 'getRaw'>; warehouse: Warehouse };

/**
 * A record that could not be read now. `isServiceUp`: the service failed on this record, and responded to another
 * request since.
 */
export type Failed = { id: number; error: ReviewApiError; isServiceUp: boolean };

/** `refused`: no attempt will read these. `failed`: a later attempt may. All others are in the warehouse, or gone. */
export type Refreshed = { counts: Counts; refused: { id: number; reason: string }[]; failed: Failed[] };

/** Updates that are no farther apart are read in one span. */
const apartSeconds = 30;
/** What was changed within one span, at the most: far less than a window may be long. */
const longestSeconds = 86_400;
const requestsAtATime = 8;
/** How long one review is asked for where the service fails on it, in milliseconds, so that others do not wait. */
export const oneReviewMs = 10_000;
/** After so many failures in a row the service itself is at fault: the rest is not asked for now. */
const failuresInARow = 8;

/**
 * Brings in what is said to have changed.
 *
 * 1. What the warehouse holds in this version or a newer one costs no request.
 * 2. The others are read from the list by their dates: a hundred at a time, and a list shows more fields than a single
 *    review.
 * 3. What is not listed there (it changed again, it is hidden) is read by its id, each for itself.
 *
 * @throws what is not an error of the service, such as the database's; running it again does no harm.
 */
export async function refreshReviews(deps: RefreshDeps, changes: readonly Change[]): Promise<Refreshed> {
  const wanted = await notHeld(deps.warehouse.db, changes);
  const counts = { changes: changes.length, held: changes.length - wanted.length, gone: 0, ...noneLanded };
  const missing = new Map(wanted.map((change) => [String(change.id), change.id]));
  for (const span of spansOfChanges(wanted)) {
    try {
      // A list that cannot be read says nothing about a review: each is requested by its id.
      if (!(await fromList(deps, span, missing, counts))) break;
    } catch (error) {
      if (!(error instanceof ReviewApiError)) throw error;
      break;
    }
  }
  const refused: Refreshed['refused'] = [];
  const failed: Unread[] = [];
  const limit = pLimit(requestsAtATime);
  let failures = 0;
  let last: ReviewApiError | undefined;
  const byId = async (id: number) => {
    deps.signal.throwIfAborted();
    if (last && failures >= failuresInARow) {
      failed.push({ id, error: last, wasAsked: false });
      return;
    }
    try {
      const { rawBody } = await deps.reviews.getRaw(id, { giveUpAfterMs: oneReviewMs });
      failures = 0;
      addTo(counts, await landOne(deps.warehouse, rawBody, deps.plausible));
    } catch (error) {
      if (!(error instanceof ReviewApiError)) throw error;
      if (error instanceof NotFoundError) counts.gone += 1;
      else if (error instanceof RefusedError) refused.push({ id, reason: describeError(error) });
      else {
        failures += 1;
        last = error;
        failed.push({ id, error, wasAsked: true });
      }
    }
  };
  const ends = await Promise.allSettled([...missing.values()].map((id) => limit(() => byId(id))));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return { counts, refused, failed: await judged(deps, failed) };
}

/** A record that could not be read; `wasAsked`: by a request of its own. */
type Unread = { id: number; error: ReviewApiError; wasAsked: boolean };

async function judged(deps: RefreshDeps, failed: readonly Unread[]): Promise<Failed[]> {
  const isUp = failed.length > 0 && (await isResponding(deps, 'updated'));
  return failed.map(({ id, error, wasAsked }) => ({ id, error, isServiceUp: isUp && wasAsked }));
}

const noneLanded = { inserted: 0, updated: 0, refused: 0 };

function addTo(counts: typeof noneLanded, landed: typeof noneLanded): void {
  for (const kind of ['inserted', 'updated', 'refused'] as const) counts[kind] += landed[kind];
}

/**
 * Lands the pages of the span that show any of the missing, and takes those off the list. False: not all of it was
 * read.
 */
async function fromList(
  deps: RefreshDeps,
  span: Span,
  missing: Map<string, number>,
  counts: typeof noneLanded,
): Promise<boolean> {
  const { gaps } = await readSpans(
    deps,
    { axis: 'updated', span },
    {
      async land(page) {
        if (!page.ids.some((id) => missing.has(id))) return true;
        addTo(counts, await landPage(deps.warehouse, page));
        for (const id of page.ids) missing.delete(id);
        return true;
      },
      // Nothing is claimed: what no list shows is read by its id.
      enter: async () => undefined,
    },
  );
  return gaps.length === 0;
}

/** Spans that contain the dates of all changes. Dates at most `apartSeconds` apart share a span. */
function spansOfChanges(changes: readonly Change[]): Span[] {
  const seconds = changes.flatMap(({ updatedAt }) => (updatedAt ? [secondOf(updatedAt)] : [])).sort((a, b) => a - b);
  const spans: { start: Second; end: Second }[] = [];
  for (const second of seconds) {
    const last = spans.at(-1);
    if (last && second - last.end <= apartSeconds && second - last.start < longestSeconds) last.end = second + 1;
    else spans.push({ start: second, end: second + 1 });
  }
  return spans;
}

/**
 * A product changed: its newest reviews show its code as it is now. Products of which nothing is known here cost no
 * request.
 *
 * @returns also the products whose reviews could not be read now. Where the service does not respond at all, no other
 *   is asked for.
 */
export async function refreshProducts(
  deps: RefreshDeps & { now: () => Date },
  ids: readonly number[],
): Promise<{ counts: Counts; failed: Failed[] }> {
  const end = secondOf(deps.now()) + 86_400;
  const span = { start: end - windowLimits.seconds, end };
  const known = await knownProductIds(deps.warehouse.db, ids);
  const failed: Unread[] = [];
  for (const id of known) {
    try {
      const [first] = failed;
      if (first && first.error.status === undefined) {
        failed.push({ id, error: first.error, wasAsked: false });
        continue;
      }
      await landPage(deps.warehouse, await fetchPage(deps, { axis: 'created', span, productId: id, desc: true }, 1));
    } catch (error) {
      if (!(error instanceof ReviewApiError)) throw error;
      failed.push({ id, error, wasAsked: true });
    }
  }
  return { counts: { products: known.length - failed.length }, failed: await judged(deps, failed) };
}
