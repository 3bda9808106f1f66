import { offsetOf, parseInstant } from '../base/time/span.ts';
import { openReviewApi } from '../review-api/index.ts';
import type { Config } from './config.ts';
import { shortLimits } from './require-same-service.ts';

/** The offset that a timestamp of the service shows; undefined if it has none. */
export const offsetShown = (timestamp: string | null): string | undefined =>
  /([+-]\d\d:\d\d|Z)$/.exec(timestamp ?? '')?.[1]?.replace('Z', '+00:00');

/** Older dates are no dates of reviews, and zones had odd offsets then. */
const isRecent = (timestamp: string | null) => timestamp !== null && timestamp >= '2000';

/** The offset of the zone at that timestamp; undefined if that is no date. */
function offsetThen(timestamp: string | null, timeZone: string): string | undefined {
  const at = parseInstant(timestamp);
  return at === undefined ? undefined : offsetOf(at, timeZone);
}

/** A sentence if the service's timestamps have another offset than REVIEW_API_TIME_ZONE. */
export function zoneProblem(timestamp: string | null, timeZone: string): string | undefined {
  const [shown, then] = [offsetShown(timestamp), offsetThen(timestamp, timeZone)];
  if (then === undefined || shown === undefined || shown === then) return undefined;
  return `its timestamps have the offset ${shown}, but ${timeZone} has ${then} then: days and windows are read shifted`;
}

/**
 * @returns the first of the zones that has the offsets of the service's timestamps, else a fixed offset; undefined if
 *   they have several offsets, as in a zone with daylight saving.
 */
function zoneOf(dates: readonly (string | null)[], zones: readonly string[]): string | undefined {
  const timestamps = dates.filter(isRecent);
  const shown = timestamps.map(offsetShown);
  const [offset] = shown;
  if (offset === undefined) return undefined;
  const [, sign, hours] = /^([+-])0?(\d+):00$/.exec(offset) ?? [];
  // The signs of these names are reversed: Etc/GMT-9 is nine hours ahead of UTC.
  const fixed = sign && `Etc/GMT${sign === '+' ? '-' : '+'}${hours}`;
  const fits = (zone: string) => timestamps.every((one, index) => offsetThen(one, zone) === shown[index]);
  return zones.find(fits) ?? (shown.every((one) => one === offset) ? fixed : undefined);
}

/** Asks the service. Undefined if it has no review, or shows no usable offset. @throws the client's errors. */
export async function askZone(
  api: Pick<Config['api'], 'baseUrl' | 'clientId' | 'clientSecret'>,
  zones: readonly string[],
): Promise<string | undefined> {
  await using opened = openReviewApi({ ...api, ...shortLimits });
  const { first_review_created_at: first, last_review_created_at: last } = await opened.reviews.overview();
  return zoneOf([last, first], zones);
}
