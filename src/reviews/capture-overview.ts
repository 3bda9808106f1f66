import type { ReviewApi } from '../review-api/index.ts';
import { parseInstant, type Second, secondOf } from '../span.ts';
import type { Db } from '../warehouse/index.ts';
import { recordOverview } from '../warehouse/overview.ts';

export type Overview = {
  /** Creation of the oldest and the newest review; undefined while there is none. */
  bounds: { first: Second; last: Second } | undefined;
  /** The service's own clock, so that ours may be off. */
  serviceNow: Second;
};

export type OverviewDeps = { reviews: Pick<ReviewApi['reviews'], 'overview'>; db: Db; now: () => Date };

/** Asks for the overview (spec, "Review overview") and keeps its bounds in the warehouse. */
export async function captureOverview(deps: OverviewDeps): Promise<Overview> {
  const overview = await deps.reviews.overview();
  const capturedAt = deps.now();
  await recordOverview(deps.db, {
    capturedAt,
    first: overview.first_review_created_at,
    last: overview.last_review_created_at,
  });
  const instant = (text: string | null) => (text === null ? undefined : parseInstant(text));
  const first = instant(overview.first_review_created_at);
  const last = instant(overview.last_review_created_at);
  return {
    bounds: first === undefined || last === undefined ? undefined : { first, last },
    serviceNow: secondOf(overview.serviceNow ?? capturedAt),
  };
}
