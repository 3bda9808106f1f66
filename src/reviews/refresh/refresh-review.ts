import { type Landed, landPage } from '../../warehouse/reviews/land-reviews.ts';
import { pageOfOne } from '../read/check-page.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { type AskedReview, askReview } from './ask-review.ts';

export type Refreshed = { kind: 'landed'; landed: Landed } | Exclude<AskedReview, { kind: 'shown' }>;

/**
 * Reads a review by its id and lands it. Fields that only lists show (docs/interface.md, "Review") stay as they are, or
 * come with the next reading of a list.
 *
 * @throws what is not an error of the service, such as the database's; running it again does no harm.
 */
export async function refreshReview(deps: ReviewDeps, id: number): Promise<Refreshed> {
  const asked = await askReview(deps, id);
  if (asked.kind !== 'shown') return asked;
  return { kind: 'landed', landed: await landPage(deps.warehouse, pageOfOne(asked, deps.plausible)) };
}
