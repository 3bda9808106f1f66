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
 * The parts in which a list is to be read again that was read to its end, because a service may show less than the period it
 * is asked for, with the number of pages that fits:
 *
 * - An empty list that ends ahead of the service's clock: what lies before now.
 * - A list of a round number of reviews, if no list was longer: both halves.
 * - A list without reviews in its first or its last days, if a request for these days alone shows some: both halves.
 */
export async function partsAgain(deps: ReadDeps, axis: Axis, read: Proven): Promise<Part[]> {
  const { span, reviews, first, middle, last, ids } = read;
  const { pages } = deps;
  const present = secondOf(deps.now()) - justNow;
  if (reviews === 0) {
    return span.end > present && span.start < present ? [{ span: { start: span.start, end: present } }] : [];
  }
  const isShort = reviews < fewReviews;
  const least = Math.max(longVoid, isShort ? 0 : (10 * (last - first)) / reviews);

  /** After sixteen looks in vain the service shows whole periods. */
  async function showsMore(days: Span): Promise<boolean> {
    if (days.end - days.start < least || pages.looks <= (isShort ? looksAtMost / 2 : 0)) return false;
    pages.looks -= 1;
    const page = await pages.slots(() => fetchPage(deps, { axis, span: days }, 1, 1));
    const isShown = page.kind === 'page' && page.seconds.some((second) => second !== undefined);
    if (isShown) pages.looks = looksAtMost;
    return isShown;
  }

  const isRound = ids.size >= pages.longest && ids.size % roundNumber === 0;
  pages.longest = Math.max(pages.longest, ids.size);
  const isCut =
    isRound ||
    (await showsMore({ start: span.start, end: first - 1 })) ||
    (await showsMore({ start: last + 1, end: Math.min(span.end, present) }));
  return isCut ? cutSpan(span, middle, deps.timeZone).map((half) => ({ span: half })) : [];
}
