import { describeError, hintOf } from '../../base/errors.ts';
import { durationText } from '../../base/time/duration.ts';
import { localPeriod, offsetOf, parseInstant, type Second } from '../../base/time/span.ts';
import {
  MalformedResponseError,
  type ReviewApi,
  type ReviewOverview,
  UnavailableError,
} from '../../review-api/index.ts';
import { type Finding, fault, inTime, ok, warning } from './finding.ts';

type ServiceCheck = { api: ReviewApi; timeZone: string; now: () => Date };

/** Checks token, clock, time zone and page size of the service. Only reads. */
export async function checkService({ api, timeZone, now }: ServiceCheck): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    await inTime(api.authenticate());
    findings.push(ok('client id and secret are accepted'));
    const overview = await inTime(api.reviews.overview());
    findings.push(checkClock(overview, now()));
    const { last_review_created_at: newest } = overview;
    // A date without an offset is no instant; checkZone says so.
    const last = parseInstant(newest) ?? parseInstant(`${newest}Z`);
    if (last === undefined) {
      const what = `it holds no review yet, so doctor cannot check its pages, nor whether it reads and shows dates in ${timeZone}`;
      const hint =
        'ask the makers of the service for its zone, and set REVIEW_API_TIME_ZONE if it is another one; ' +
        'run review-sync doctor again once there is a review';
      return [...findings, warning(what, hint)];
    }
    findings.push(checkZone(newest, timeZone));
    findings.push(...(await inTime(checkPages(api, last, timeZone))));
    return [...findings, ...checkCache(api)];
  } catch (error) {
    return [...findings, fault(describeError(error), serviceHint(error))];
  }
}

function checkClock({ serviceNow }: ReviewOverview, now: Date): Finding {
  if (!serviceNow)
    return warning('it sends no Date header: its clock cannot be compared', 'check that no proxy removes the header');
  const offsetSeconds = (serviceNow.getTime() - now.getTime()) / 1000;
  // The header has whole seconds.
  const offset = `(offset ${Math.round(offsetSeconds)} s)`;
  if (Math.abs(offsetSeconds) <= 60) return ok(`its clock agrees with ours ${offset}`);
  const hint = 'set the clock of this machine by NTP';
  if (Math.abs(offsetSeconds) > 86_400)
    return fault(`its clock differs from ours ${offset}: no run of reviews begins`, hint);
  return warning(`its clock differs from ours ${offset}; nothing is lost, watermarks follow the data`, hint);
}

/** Whether a timestamp of the service has the offset of REVIEW_API_TIME_ZONE. */
export function checkZone(timestamp: string | null, timeZone: string): Finding {
  const at = parseInstant(timestamp);
  if (at === undefined) return warning('its timestamps have no offset', 'ask the service’s makers');
  const [, hours = '+00', minutes = '00'] = /([+-]\d\d):?(\d\d)?$/.exec(timestamp ?? '') ?? [];
  const shown = `${hours}:${minutes}`;
  const then = offsetOf(at, timeZone);
  if (shown === then) return ok(`its timestamps have the offset of ${timeZone}`);
  const what = `its timestamps have the offset ${shown}, but ${timeZone} had ${then} at the newest review: days and windows are shifted`;
  return fault(what, 'set REVIEW_API_TIME_ZONE to the zone of the service');
}

/** Lists the second of the newest review in the configured zone. The review must be on the page, of at most 100. */
async function checkPages(api: ReviewApi, last: Second, timeZone: string): Promise<Finding[]> {
  const { start, end } = localPeriod({ start: last, end: last + 1 }, timeZone);
  const page = await api.reviews.page({ start_datetime: start, end_datetime: end, limit: 100 }, 1);
  if (page.items.length > 100)
    return [fault(`a page holds ${page.items.length} reviews, expected at most 100`, 'ask the service’s makers')];
  if (page.items.length === 0) {
    const what = `no review is listed at ${start} (${timeZone}), the date of the newest review in its overview`;
    return [warning(what, 'the review may be hidden or just deleted; otherwise REVIEW_API_TIME_ZONE is wrong')];
  }
  return [ok('its newest review is listed at its second, in pages of 100')];
}

/** A cached list proves only the state when it was cached. A cached order detail is refused. */
function checkCache(api: ReviewApi): Finding[] {
  const { oldestMs } = api.stats();
  if (oldestMs <= 60_000) return [];
  const what = `a cache in front of it answers, up to ${durationText(oldestMs / 1000)} old, although we send Cache-Control: no-cache`;
  return [warning(what, 'let the cache skip the paths below /v1; no order is pushed by an old answer')];
}

function serviceHint(error: unknown): string {
  if (error instanceof MalformedResponseError) {
    return 'REVIEW_API_BASE_URL may name a web site, or a proxy that responds in place of the service';
  }
  const otherwise =
    error instanceof UnavailableError ? 'check whether the service is up, and its log' : 'read its error';
  return hintOf(error, 'REVIEW_API_BASE_URL') ?? otherwise;
}
