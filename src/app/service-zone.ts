import { offsetOf, parseInstant } from '../base/time/span.ts';
import { openReviewApi } from '../review-api/index.ts';
import type { Config } from './config.ts';
import { shortLimits } from './require-same-service.ts';

/** The offset that a timestamp of the service shows; undefined if it has none. */
export const offsetShown = (timestamp: string | null): string | undefined =>
  /([+-]\d\d:\d\d|Z)$/.exec(timestamp ?? '')?.[1]?.replace('Z', '+00:00');

/** A sentence if the service's timestamps have another offset than REVIEW_API_TIME_ZONE. */
export function zoneProblem(timestamp: string | null, timeZone: string): string | undefined {
  const [shown, at] = [offsetShown(timestamp), parseInstant(timestamp)];
  if (shown === undefined || at === undefined) return undefined;
  const then = offsetOf(at, timeZone);
  if (shown === then) return undefined;
  return `its timestamps have the offset ${shown}, but ${timeZone} has ${then} then: days and windows are read shifted`;
}

/**
 * Asks the service for the offset of its newest review.
 *
 * @returns the first of the zones that has it; undefined if none has, or the service has no review. @throws the client's errors.
 */
export async function askZone(
  api: Pick<Config['api'], 'baseUrl' | 'clientId' | 'clientSecret'>,
  zones: readonly string[],
): Promise<string | undefined> {
  await using opened = openReviewApi({ ...api, ...shortLimits });
  const { last_review_created_at: newest } = await opened.reviews.overview();
  if (offsetShown(newest) === undefined) return undefined;
  return zones.find((zone) => zoneProblem(newest, zone) === undefined);
}
