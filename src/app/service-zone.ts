import { offsetOf, parseInstant } from '../base/time/span.ts';
import { openReviewApi, type ReviewApi } from '../review-api/index.ts';
import type { Config } from './config.ts';
import { shortLimits } from './require-same-service.ts';

/** The offset that the service's newest timestamp has, compared with a zone. */
export type ZoneCheck = { found: string; expected: string } | 'no review' | 'no offset';

/** @param timestamp of the newest review in the overview. @param timeZone REVIEW_API_TIME_ZONE. */
export function compareZone(timestamp: string | null, timeZone: string): ZoneCheck {
  if (timestamp === null) return 'no review';
  const at = parseInstant(timestamp);
  const found = /([+-]\d\d:\d\d|Z)$/.exec(timestamp)?.[1]?.replace('Z', '+00:00');
  return at === undefined || found === undefined ? 'no offset' : { found, expected: offsetOf(at, timeZone) };
}

/** A sentence where the service's timestamps have another offset than REVIEW_API_TIME_ZONE. */
export function zoneProblem(timestamp: string | null, timeZone: string): string | undefined {
  const check = compareZone(timestamp, timeZone);
  if (typeof check === 'string' || check.found === check.expected) return undefined;
  return (
    `its timestamps have the offset ${check.found}, but ${timeZone} has ${check.expected} then: ` +
    'days and windows are read shifted'
  );
}

/** Says so with each reading of the overview, with which every run of reviews begins. */
export function withZoneCheck(api: ReviewApi, timeZone: string, onProblem: (problem: string) => void): ReviewApi {
  const overview: ReviewApi['reviews']['overview'] = async (options) => {
    const read = await api.reviews.overview(options);
    const problem = zoneProblem(read.last_review_created_at, timeZone);
    if (problem !== undefined) onProblem(problem);
    return read;
  };
  return { ...api, reviews: { ...api.reviews, overview } };
}

/** @returns the first of the zones that has the offset of the service's newest timestamp, else a fixed offset. */
export function zoneOf(timestamp: string | null, zones: readonly string[]): string | undefined {
  const fits = zones.find((zone) => {
    const check = compareZone(timestamp, zone);
    return typeof check === 'object' && check.found === check.expected;
  });
  const check = compareZone(timestamp, 'UTC');
  const [, sign, hours] = (typeof check === 'object' && /^([+-])0?(\d+):00$/.exec(check.found)) || [];
  // The signs of these names are reversed: Etc/GMT-9 is nine hours ahead of UTC.
  return fits ?? (sign && `Etc/GMT${sign === '+' ? '-' : '+'}${hours}`);
}

/** Asks the service. Undefined where it has no review, or shows no usable offset. @throws the client's errors. */
export async function askZone(
  api: Pick<Config['api'], 'baseUrl' | 'clientId' | 'clientSecret'>,
  zones: readonly string[],
): Promise<string | undefined> {
  const opened = openReviewApi({ ...api, ...shortLimits });
  try {
    return zoneOf((await opened.reviews.overview()).last_review_created_at, zones);
  } finally {
    await opened.close();
  }
}
