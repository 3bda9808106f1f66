import { isoOf, type Second, type Span } from '../../base/time/span.ts';
import { fetchPage, type ListPage, type PageDeps, type PageQuery } from './list-page.ts';
import type { Axis } from './window.ts';

/** One span while it is read: what it showed, and the pages on their way to the warehouse. */
export type Reading = ReturnType<typeof beginReading>;

/** A span of which everything was read. */
export type Proven = ReturnType<Reading['proven']>;

export function beginReading(deps: PageDeps, axis: Axis, span: Span, land: (page: ListPage) => Promise<unknown>) {
  let landing: Promise<unknown> = Promise.resolve();
  let startedAt = new Date(0);
  let [pages, requests] = [0, 0];
  const seen = new Map<string, Second | undefined>();

  /** Lands a page. Pages land one after the other, while the next request is under way. */
  async function take(page: ListPage): Promise<void> {
    pages += 1;
    for (const [index, id] of page.ids.entries()) seen.set(id, page.seconds[index]);
    await landing;
    landing = land(page);
    // The next `take` or `landed` throws the error; until then it must not count as unhandled.
    landing.catch(() => {});
  }

  return {
    axis,
    span,
    deps,
    take,
    /** Requests a page. @throws UnreadableError as `fetchPage`. */
    async page(query: PageQuery, number: number, limit?: number): Promise<ListPage> {
      const page = await fetchPage(deps, query, number, limit);
      requests += 1;
      if (requests === 1) startedAt = page.requestedAt;
      return page;
    },
    /** Resolves when every page has landed. */
    async landed(): Promise<void> {
      await landing;
    },
    /**
     * What was read when every page has landed. `ids`: all that were shown, also around the span. `reviews`: different
     * ones dated within it. `startedAt`: when the first request was sent.
     */
    proven() {
      const dates = [...seen.values()].filter((second) => second !== undefined);
      const reviews = dates.filter((second) => second >= span.start && second < span.end).length;
      return { span, ids: new Set(seen.keys()), reviews, pages, requests, startedAt };
    },
  };
}

export const spanText = ({ start, end }: Span) =>
  end === start + 1 ? isoOf(start) : `${isoOf(start)} to ${isoOf(end)}`;
