import { type Second, type Span, secondOf } from '../../base/time/span.ts';
import { fetchPage } from './list-page.ts';
import { looksAtMost, type Part, type Proven, type ReadDeps } from './reader.ts';
import { type Axis, cutSpan, halvesOf, justNow } from './window.ts';

/** A list of fewer reviews is no sign that there are some each day. It leaves half of the looks to longer lists. */
const fewReviews = 100;
/** Seconds without reviews that are worth a look. A window may begin 26 hours before the first review. */
const longVoid = 27 * 3600;
/** A limit of a service is a multiple of this: 300 reviews of any list, pages of 30 without a second one. */
const roundNumber = 10;

/** The long parts of a span, until now, without reviews before the first and behind the last one; all of it if it has none. */
export function voidsOf({ span, reviews, first, last }: Proven, present: Second): Span[] {
  const until = Math.min(span.end, present);
  const before = { start: span.start, end: reviews === 0 ? until : first - 1 };
  const voids = reviews === 0 ? [before] : [before, { start: last + 1, end: until }];
  return voids.filter(({ start, end }) => end - start > (reviews === 0 ? 0 : longVoid));
}

/**
 * The parts in which a list is to be read again that was read to its end, because a service may show less than the period it
 * is asked for, with the number of pages that fits:
 *
 * - An empty list that ends ahead of the service's clock: what lies before now.
 * - A list of a round number of reviews, if no list was longer: both halves.
 * - A list without reviews in its first or its last days, or in either half, if a request for these days alone shows some:
 *   both halves.
 */
export async function partsAgain(deps: ReadDeps, axis: Axis, read: Proven): Promise<Part[]> {
  const { span, reviews, first, middle, last, ids } = read;
  const { pages } = deps;
  const voids = voidsOf(read, secondOf(deps.now()) - justNow);
  const untilNow = voids.filter(({ end }) => reviews === 0 && end < span.end);
  if (untilNow.length > 0) return untilNow.map((one) => ({ span: one }));

  const isRound = reviews > 0 && ids.size >= pages.longest && ids.size % roundNumber === 0;
  pages.longest = Math.max(pages.longest, ids.size);
  let isCut = isRound;
  for (const days of reviews === 0 ? halvesOf(span, deps.timeZone) : voids) {
    if (days.end - days.start <= longVoid) continue;
    // After sixteen looks in vain the service shows whole periods.
    const isUsual = reviews < fewReviews ? pages.looks <= looksAtMost / 2 : pages.looks === 0;
    const isNormal = reviews >= fewReviews && (days.end - days.start) * reviews < 10 * (last - first);
    if (isCut || isUsual || isNormal) continue;
    pages.looks -= 1;
    const page = await pages.slots(() => fetchPage(deps, { axis, span: days }, 1, 1));
    isCut = page.kind === 'page' && page.seconds.some((second) => second !== undefined);
    if (isCut) pages.looks = looksAtMost;
  }
  return isCut ? cutSpan(span, middle, deps.timeZone).map((half) => ({ span: half })) : [];
}
