import { halves, isoOf, type Span, unitEnd } from '../span.ts';
import type { PageDeps } from './page.ts';
import { type Part, partOf } from './part.ts';
import { readAllPages } from './read-all-pages.ts';
import { readDense } from './read-dense.ts';
import type { Axis, Window } from './window.ts';

/**
 * Reads a span page by page: one that does not come in the order of its date, or whose first second alone fills a page.
 * What overflows thirty pages is halved; a second that does is split by what else tells reviews apart.
 *
 * @returns a sentence for each moment that holds more than any query can reach.
 */
export async function readByPages(
  deps: PageDeps,
  { axis, span }: Window,
  land: (part: Part) => Promise<void>,
): Promise<string[]> {
  let requests = 0;
  const page: PageDeps['reviews']['page'] = (...given) => {
    requests += 1;
    return deps.reviews.page(...given);
  };
  const counting = { ...deps, reviews: { page } };
  const isUnit = span.end <= unitEnd(span.start, deps.timeZone);
  const all = await readAllPages(counting, { axis, span }, { once: true });
  const whole = partOf(all.pages, span, requests);
  if (all.settled && !all.overflow) {
    await land(whole);
    return [];
  }
  await land({ ...whole, complete: undefined });
  if (!isUnit) {
    const told: string[] = [];
    for (const half of halves(span)) told.push(...(await readByPages(deps, { axis, span: half }, land)));
    return told;
  }
  requests = 0;
  const { isComplete, ...dense } = await readDense(counting, { axis, span }, all, (pages) =>
    land({ ...partOf(pages, span, 0), complete: undefined }),
  );
  const { startedAt } = whole;
  await land({ ...dense, pages: [], complete: isComplete ? span : undefined, requests, startedAt });
  return isComplete ? [] : [sentence(axis, span, dense.ids.size, dense.total)];
}

function sentence(axis: Axis, { start, end }: Span, read: number, total: number | undefined): string {
  const moment = end === start + 1 ? isoOf(start) : `${isoOf(start)} to ${isoOf(end)}`;
  const held = total === undefined ? 'more reviews' : `${total.toLocaleString('en')} reviews, more`;
  return `The service holds ${held} ${axis} at ${moment} than any query can reach (${read.toLocaleString('en')} were read)`;
}
