import { describeError } from '../base/errors.ts';
import type { Span } from '../base/time/span.ts';
import { NotFoundError, type ReviewApi, ReviewApiError } from '../review-api/index.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { type Landed, landOne } from '../warehouse/reviews/land-reviews.ts';

export type RefreshDeps = { reviews: Pick<ReviewApi['reviews'], 'getRaw'>; warehouse: Warehouse; plausible: Span };

export type Refreshed = { kind: 'landed'; landed: Landed } | { kind: 'gone' } | { kind: 'failed'; reason: string };

/** How long one review is asked for where the service fails on it, in milliseconds, so that others do not wait. */
export const oneReviewMs = 10_000;

/**
 * Reads a review by its id and lands it. Fields that only lists show (docs/interface.md, "Review") stay as they are, or
 * come with the next reading of a list.
 *
 * @throws what is not an error of the service, such as the database's; running it again does no harm.
 */
export async function refreshReview(deps: RefreshDeps, id: number): Promise<Refreshed> {
  try {
    const { rawBody } = await deps.reviews.getRaw(id, { giveUpAfterMs: oneReviewMs });
    return { kind: 'landed', landed: await landOne(deps.warehouse, rawBody, deps.plausible) };
  } catch (error) {
    if (!(error instanceof ReviewApiError)) throw error;
    return error instanceof NotFoundError ? { kind: 'gone' } : { kind: 'failed', reason: describeError(error) };
  }
}
