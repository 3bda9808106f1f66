import { type Second, type Span, secondOf } from '../../base/time/span.ts';
import type { ListPage, PageDeps } from './list-page.ts';
import type { Axis } from './window.ts';

/** A span of which everything was read. */
export type Proven = {
  span: Span;
  /** Every id that was shown, also around the span. */
  ids: ReadonlySet<string>;
  /** Different reviews dated within the span. */
  reviews: number;
  pages: number;
  requests: number;
  /** When its first request was sent. */
  startedAt: Date;
};

/** One span while it is read: what it showed, and the pages on their way to the warehouse. */
export type Reading = {
  readonly deps: PageDeps;
  readonly axis: Axis;
  readonly span: Span;
  /** The first date that was shown and not asked for. */
  outOfRange: Second | undefined;
  requests: number;
  /** Every record that was shown, by id, with its second on the axis where it has one. */
  readonly seen: ReadonlyMap<string, Second | undefined>;
  /** Everything before this second was listed when the reading began. */
  settledAt(): Second;
  /** Lands a page, once. Pages land one after the other, while the next request is under way. */
  take(page: ListPage): Promise<void>;
  /** Resolves when every page has landed. */
  landed(): Promise<void>;
  /** The span, when every page has landed. */
  proven(): Proven;
};

/** Seconds before a request in which a review may have been written and not be listed yet. */
export const justNow = 60;

export function beginReading(
  deps: PageDeps,
  axis: Axis,
  span: Span,
  land: (page: ListPage) => Promise<unknown>,
): Reading {
  let landing: Promise<unknown> = Promise.resolve();
  let startedAt: Date | undefined;
  let pages = 0;
  const seen = new Map<string, Second | undefined>();
  const page: PageDeps['reviews']['page'] = async (...request) => {
    reading.requests += 1;
    const response = await deps.reviews.page(...request);
    startedAt ??= response.requestedAt;
    return response;
  };
  const reading: Reading = {
    deps: { ...deps, reviews: { page } },
    axis,
    span,
    outOfRange: undefined,
    requests: 0,
    seen,
    settledAt: () => secondOf(startedAt ?? new Date(0)) - justNow,
    async take(page) {
      pages += 1;
      reading.outOfRange ??= page.outOfRange;
      for (const [index, id] of page.ids.entries()) seen.set(id, page.seconds[index]);
      if (page.isTaken) return;
      page.isTaken = true;
      await landing;
      landing = land(page);
      // The next `take` or `landed` throws the error; until then it must not count as unhandled.
      landing.catch(() => {});
    },
    async landed() {
      await landing;
    },
    proven() {
      const isWithin = (second: Second | undefined) =>
        second !== undefined && second >= span.start && second < span.end;
      const reviews = [...seen.values()].filter(isWithin).length;
      const { requests } = reading;
      return { span, ids: new Set(seen.keys()), reviews, pages, requests, startedAt: startedAt ?? new Date(0) };
    },
  };
  return reading;
}
