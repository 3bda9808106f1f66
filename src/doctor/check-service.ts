import { adviceOf, describeError } from '../errors.ts';
import { type Finding, fault, ok, warning } from '../finding.ts';
import { MalformedAnswerError, type ReviewApi, type ReviewOverview, UnavailableError } from '../review-api/index.ts';
import { localPeriod, offsetOf, parseInstant, type Second } from '../span.ts';
import { inTime } from './in-time.ts';

export type ServiceCheck = { api: ReviewApi; baseUrl: string; timeZone: string; now: () => Date };

/** Token, clock, time zone, and the limits of a page. Only reads. */
export async function checkService({ api, baseUrl, timeZone, now }: ServiceCheck): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    await inTime(api.authenticate(), baseUrl);
    findings.push(ok('client id and secret are accepted'));
    const overview = await inTime(api.reviews.overview(), baseUrl);
    findings.push(clock(overview, now()));
    const last = instantOf(overview.last_review_created_at);
    if (last === undefined) return [...findings, ok('it holds no review yet: time zone and pages cannot be told')];
    findings.push(zone(overview, timeZone), ...(await inTime(pages(api, last, timeZone), baseUrl)));
    return findings;
  } catch (error) {
    return [...findings, fault(describeError(error), mendOf(error))];
  }
}

const instantOf = (text: string | null): Second | undefined => (text === null ? undefined : parseInstant(text));

function clock({ serviceNow }: ReviewOverview, now: Date): Finding {
  if (!serviceNow)
    return warning('it tells no Date: its clock cannot be compared', 'see that no proxy takes the header away');
  const offSeconds = Math.abs(serviceNow.getTime() - now.getTime()) / 1000;
  if (offSeconds <= 60) return ok('its clock is ours');
  const off = `its clock is ${Math.round(offSeconds)} s from ours`;
  return warning(`${off}; nothing is lost, watermarks follow the data`, 'set the clock of this machine by NTP');
}

function zone({ last_review_created_at: text }: ReviewOverview, timeZone: string): Finding {
  const at = instantOf(text);
  const theirs = /([+-]\d\d:\d\d|Z)$/.exec(text ?? '')?.[1]?.replace('Z', '+00:00');
  if (at === undefined || theirs === undefined)
    return warning('its timestamps carry no offset', 'ask the service’s makers');
  const ours = offsetOf(at, timeZone);
  if (theirs === ours) return ok(`its timestamps carry ${theirs}, as ${timeZone} has it`);
  return fault(
    `its timestamps carry ${theirs}, but ${timeZone} has ${ours} then: days and windows would be read askew`,
    'set REVIEW_API_TIME_ZONE to the zone of the service',
  );
}

/** The second of the newest review, by the configured zone: it must be found there, on a page of at most a hundred. */
async function pages(api: ReviewApi, last: Second, timeZone: string): Promise<Finding[]> {
  const { start, end } = localPeriod({ start: last, end: last + 1 }, timeZone);
  const page = await api.reviews.page({ start_datetime: start, end_datetime: end, limit: 100 }, 1);
  if (page.items.length > 100)
    return [fault(`a page holds ${page.items.length} reviews, expected at most 100`, 'ask the service’s makers')];
  if (page.items.length === 0) {
    const what = `no review is listed at ${start} (${timeZone}), where its overview says the newest is`;
    return [warning(what, 'the review may be hidden or just deleted; else REVIEW_API_TIME_ZONE is wrong')];
  }
  return [ok('its newest review is found at its second, in pages of 100')];
}

function mendOf(error: unknown): string {
  if (error instanceof MalformedAnswerError) {
    return 'REVIEW_API_BASE_URL may name a web site, or a proxy before the service answers in its place';
  }
  const advice = adviceOf(error)?.replace(/its address|the base address/, 'REVIEW_API_BASE_URL');
  if (advice === undefined && error instanceof UnavailableError) return 'see whether the service is up, and its log';
  return advice ?? 'see what the service says';
}
