import { type Second, type Span, secondOf } from '../span.ts';
import { heldBounds } from '../warehouse/absent-reviews.ts';
import type { Db } from '../warehouse/index.ts';
import type { Overview } from './capture-overview.ts';

/** How far ahead of the service's clock reviews are looked for window by window. */
const yearsAhead = 20;
const year = 366 * 86_400;

/**
 * The spans in which the service has reviews, by its overview. The second after the newest belongs to them: a service
 * may take the end of a period to be without its milliseconds, or to be left out.
 *
 * A review dated in a far future (9999-12-31, say) must not cost a request for every 44 days until then: what lies more
 * than twenty years ahead is read only around the newest.
 */
export function reviewSpans({ bounds, serviceNow }: Overview): Span[] {
  if (!bounds) return [];
  const [first, last] = [Math.min(bounds.first, bounds.last), Math.max(bounds.first, bounds.last)];
  const horizon = serviceNow + yearsAhead * year;
  if (last <= horizon) return [{ start: first, end: last + 1 }];
  const around = { start: last - 86_400, end: last + 1 };
  return first > horizon ? [around] : [{ start: first, end: horizon }, around];
}

/** The same, and where the warehouse has reviews beyond: those that are gone from the service lie there, too. */
export async function allSpans(db: Db, overview: Overview): Promise<Span[]> {
  const held = await heldBounds(db);
  const { bounds, serviceNow } = overview;
  if (!held) return reviewSpans(overview);
  const [first, last]: [Second, Second] = [secondOf(held.first), secondOf(held.last)];
  return reviewSpans({
    serviceNow,
    bounds: { first: Math.min(first, bounds?.first ?? first), last: Math.max(last, bounds?.last ?? last) },
  });
}
