import { parseInstant } from '../../base/time/span.ts';
import { deadLettersOf } from '../../warehouse/dead-letters.ts';
import { compareOne } from '../../warehouse/reviews/compare-reviews.ts';
import { missedReview, reviewRow, windowsOf } from '../../warehouse/reviews/one-review.ts';
import type { ReviewDeps } from '../review-deps.ts';
import { askReview } from './refresh-review.ts';

export type ReviewExplanation = Awaited<ReturnType<typeof explainReview>>;

/**
 * The life of one review: what the service shows, what the warehouse holds, and which windows should have read it. If
 * the service does not respond, only its part is missing.
 */
export async function explainReview(deps: Pick<ReviewDeps, 'reviews' | 'warehouse'>, id: number) {
  const { db } = deps.warehouse;
  const asked = await askReview(deps, id);
  const service = asked.kind === 'shown' ? asked : undefined;
  const warehouse = await reviewRow(db, id);
  const dates = {
    created: dateOf(service?.item.created_at) ?? warehouse?.created_at,
    updated: dateOf(service?.item.updated_at) ?? warehouse?.updated_at,
  };
  return {
    id,
    /** The review as the service shows it by its id; undefined if the service says that it is gone. */
    service: service?.item,
    /** Why it is unknown what the service shows. */
    serviceFault: asked.kind === 'failed' ? asked.reason : undefined,
    warehouse,
    /** Windows of the coverage ledger that include its dates, the newest reading first. */
    windows: await windowsOf(db, dates),
    deadLetters: await deadLettersOf(db, 'review', String(id)),
    missed: await missedReview(db, id),
    /** Empty if both agree. Fields that only one of the two shows are left out. */
    differences: service ? await compareOne(deps.warehouse, service.rawBody) : [],
  };
}

/** In a sentence: whether service and warehouse agree about the review, and what to do if they do not. */
export function reviewVerdict(review: ReviewExplanation): string {
  const { service, serviceFault, warehouse, differences, deadLetters } = review;
  if (serviceFault !== undefined) return 'Nothing was compared: the service could not be asked.';
  if (!service && warehouse && !warehouse.deleted_at)
    return 'It should be marked deleted: review-sync verify reviews --repair does that.';
  if (!service) return 'Neither the service nor the warehouse shows it.';
  const [one] = differences;
  if (!one) return 'Service and warehouse agree.';
  if (one.kind === 'refused') return 'The warehouse cannot hold it as it is.';
  if (one.kind !== 'missing') return `They differ in ${one.fields.join(', ')}.`;
  return deadLetters.length > 0
    ? 'The warehouse lacks it: the dead letter gives the reason.'
    : 'The warehouse lacks it: run review-sync backfill reviews over the day it was created.';
}

function dateOf(value: unknown): Date | undefined {
  const second = parseInstant(value);
  return second === undefined ? undefined : new Date(second * 1000);
}
