import type { Second } from '../span.ts';
import { fetchPage, limitsOf, type PageDeps } from './page.ts';
import type { Axis } from './window.ts';

/** A span that was read to its end, and how many reviews of it there were. */
export type Stretch = { start: Second; end: Second; reviews: number };

/** What was read, and the largest page among it. */
type Met = { stretches: readonly Stretch[]; largest: number };

/**
 * Whether the service, which tells no last page, has more than what was read. A list that is not sorted by date can show a
 * first page that is in order by chance, with older reviews behind it: nothing tells, but the page on which the list
 * has to end. So it is asked for, once for each thirty pages.
 */
export async function isMoreBehind(deps: PageDeps, axis: Axis, { stretches, largest }: Met): Promise<boolean> {
  const { pages: most } = limitsOf(deps);
  for (const { start, end, reviews } of joined(stretches, (most - 1) * (largest - 1))) {
    // The last page must have room, or what is behind it does not show.
    const roomy = [0, 1, 2, 3].map((less) => largest - less).find((size) => size > 1 && reviews % size > 0);
    const size = roomy ?? largest;
    const last = Math.floor(reviews / size) + 1;
    if (reviews === 0 || last > most) continue;
    // The second of the end belongs to what follows.
    const page = await fetchPage(deps, { axis, span: { start, end: Math.max(start, end - 1) } }, last, size);
    const shown = page.seconds.filter((second) => second !== undefined && second >= start && second < end);
    if (shown.length > reviews - size * (last - 1)) return true;
  }
  return false;
}

/** Neighbours made one, as long as they are within so many reviews. */
function joined(stretches: readonly Stretch[], most: number): Stretch[] {
  const all: Stretch[] = [];
  for (const one of stretches.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    const last = all.at(-1);
    if (last?.end === one.start && last.reviews + one.reviews <= most) {
      all[all.length - 1] = { start: last.start, end: one.end, reviews: last.reviews + one.reviews };
    } else all.push({ ...one });
  }
  return all;
}
