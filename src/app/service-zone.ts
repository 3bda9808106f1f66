import { offsetOf, parseInstant } from '../base/time/span.ts';
import { openReviewApi } from '../review-api/index.ts';
import type { Config } from './config.ts';
import { shortLimits } from './require-same-service.ts';

/** The offset that a timestamp of the service shows; undefined where it has none. */
export const offsetShown = (timestamp: string | null): string | undefined =>
  /([+-]\d\d:\d\d|Z)$/.exec(timestamp ?? '')?.[1]?.replace('Z', '+00:00');

/** The offset of the zone at that timestamp; undefined where that is no date. */
function offsetThen(timestamp: string | null, timeZone: string): string | undefined {
  const at = parseInstant(timestamp ?? '');
  return at === undefined ? undefined : offsetOf(at, timeZone);
}

/** A sentence where the service's timestamps have another offset than REVIEW_API_TIME_ZONE. */
export function zoneProblem(timestamp: string | null, timeZone: string): string | undefined {
  const [shown, then] = [offsetShown(timestamp), offsetThen(timestamp, timeZone)];
  if (then === undefined || shown === undefined || shown === then) return undefined;
  return `its timestamps have the offset ${shown}, but ${timeZone} has ${then} then: days and windows are read shifted`;
}

/** @returns the first of the zones that has the offset of the service's newest timestamp, else a fixed offset. */
function zoneOf(timestamp: string | null, zones: readonly string[]): string | undefined {
  const shown = offsetShown(timestamp);
  if (shown === undefined) return undefined;
  const [, sign, hours] = /^([+-])0?(\d+):00$/.exec(shown) ?? [];
  // The signs of these names are reversed: Etc/GMT-9 is nine hours ahead of UTC.
  const fixed = sign && `Etc/GMT${sign === '+' ? '-' : '+'}${hours}`;
  return zones.find((zone) => offsetThen(timestamp, zone) === shown) ?? fixed;
}

/** Asks the service. Undefined where it has no review, or shows no usable offset. @throws the client's errors. */
export async function askZone(
  api: Pick<Config['api'], 'baseUrl' | 'clientId' | 'clientSecret'>,
  zones: readonly string[],
): Promise<string | undefined> {
  await using opened = openReviewApi({ ...api, ...shortLimits });
  return zoneOf((await opened.reviews.overview()).last_review_created_at, zones);
}
