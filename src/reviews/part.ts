import type { Span } from '../span.ts';
import type { Page } from './page.ts';

/** A piece of what was read. */
export type Part = {
  pages: readonly Page[];
  /**
   * The span of which now everything was read, its last second left out: that one begins the next part. Undefined where
   * more is still to come, or cannot be reached.
   */
  complete: Span | undefined;
  /** Ids that were met in `complete`, and around it. */
  ids: ReadonlySet<string>;
  /** Different reviews of `complete`. */
  reviews: number;
  requests: number;
  /** When its first request was sent. */
  startedAt: Date;
};

/** The part that these pages make, of which all of `complete` is known now. */
export function partOf(pages: readonly [Page, ...Page[]], complete: Span, requests: number = pages.length): Part {
  const within = new Set<string>();
  for (const page of pages) {
    for (const [index, id] of page.ids.entries()) {
      const second = page.seconds[index];
      if (second !== undefined && second >= complete.start && second < complete.end) within.add(id);
    }
  }
  const ids = new Set(pages.flatMap((page) => page.ids));
  return { pages, complete, ids, reviews: within.size, requests, startedAt: pages[0].requestedAt };
}

/** A page that proves nothing complete. What it shows is true all the same. */
export const asMet = (page: Page): Part => ({ ...partOf([page], { start: 0, end: 0 }), complete: undefined });
