import { type Span, secondOf } from '../../base/time/span.ts';
import { fetchPage } from './list-page.ts';
import { looksAtMost, type Part, type Proven, type ReadDeps } from './reader.ts';
import { type Axis, cutSpan, justNow } from './window.ts';

/** A list of fewer reviews is no sign that there are some each day. It leaves half of the looks to longer lists. */
const fewReviews = 100;
/** Seconds without reviews that are worth a look. A window may begin 26 hours before the first review. */
const longVoid = 2 * 86_400;
/** A limit of a service is a multiple of this. */
const roundNumber = 50;

/**
 * What of a list that was read to its end is to be read once more. A service may show less than the period it is asked for,
 * and name the number of pages that fits:
 *
 * - An empty list that ends ahead of the service's clock: what lies before now.
 * - A list of a round number of reviews, if no list was longer: both halves of it.
 * - A list without reviews in its first or its last days: these days, if a request for them alone shows some.
 *
 * @returns `proven`: what needs no second look.
 */
export async function lookAgain(deps: ReadDeps, axis: Axis, end: Proven): Promise<{ proven?: Proven; parts: Part[] }> {
  const { span, reviews, first, last, middle, ids } = end;
  const present = secondOf(deps.now()) - justNow;
  if (reviews === 0) {
    const isAhead = span.end > present && span.start < present;
    return isAhead ? { parts: [{ span: { start: span.start, end: present } }] } : { proven: end, parts: [] };
  }
  const isRound = ids.size >= deps.pages.longest && ids.size % roundNumber === 0;
  deps.pages.longest = Math.max(deps.pages.longest, ids.size);
  const halves = isRound ? cutSpan(span, middle, deps.timeZone) : [];
  if (halves.length > 0) return { parts: halves.map((half) => ({ span: half })) };

  const least = Math.max(longVoid, reviews < fewReviews ? 0 : (10 * (last - first)) / reviews);
  const shows = (days: Span) => days.end - days.start > least && showsMore(deps, axis, days, reviews);
  const isLate = first < span.end - 1 && (await shows({ start: span.start, end: first - 1 }));
  const isEarly = last > span.start && (await shows({ start: last + 1, end: Math.min(span.end, present) }));
  // The outermost seconds may have more reviews than were shown.
  const [start, until] = [isLate ? first + 1 : span.start, isEarly ? last : span.end];
  const parts = [...(isLate ? [{ ...span, end: start }] : []), ...(isEarly ? [{ ...span, start: until }] : [])];
  return {
    ...(start < until && { proven: { ...end, span: { start, end: until } } }),
    parts: parts.map((one) => ({ span: one })),
  };
}

/** Whether a request for these days alone shows reviews. After sixteen in vain the service shows whole periods. */
async function showsMore(deps: ReadDeps, axis: Axis, span: Span, reviews: number): Promise<boolean> {
  const { pages } = deps;
  if (pages.looks <= (reviews < fewReviews ? looksAtMost / 2 : 0)) return false;
  pages.looks -= 1;
  const page = await pages.slots(() => fetchPage(deps, { axis, span }, 1, 1));
  const isShown = page.kind === 'page' && page.seconds.some((second) => second !== undefined);
  if (isShown) pages.looks = looksAtMost;
  return isShown;
}
