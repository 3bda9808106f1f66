import type { LimitFunction } from 'p-limit';
import { type Second, type Span, secondOf } from '../../base/time/span.ts';
import { justNow } from '../limits.ts';
import { limitsOf, type ReadDeps } from '../review-deps.ts';
import { middleOf } from '../windows.ts';
import { fetchPage, type ListPage, type Obstacle, type PageQuery } from './list-page.ts';

/**
 * A span to be read. `guess`: the page at which its list is expected to end. `last`: its last page, if another list has
 * shown it.
 */
export type Part = Readonly<{
  span: Span;
  guess?: number | undefined;
  last?: ListPage | undefined;
  giveUpAfterMs?: number | undefined;
}>;

/** Lands a page: its reviews are true whether or not their span is proven. */
export type Land = (page: ListPage) => Promise<unknown>;

/** One span while it is read: what it showed, and its pages on their way to the warehouse. */
export type Reader = ReturnType<typeof openReader>;

/** What the reading of a span has shown. */
export type Proven = ReturnType<Reader['proven']>;

export function openReader(deps: ReadDeps, span: Span, land: Land) {
  const seen = new Map<string, Second | undefined>();
  const strays = new Set<string>();
  const products = new Set<number>();
  const landings: Promise<unknown>[] = [];
  let pages = 0;
  let requests = 0;
  let startedMs = Number.POSITIVE_INFINITY;

  async function ask(query: PageQuery, number: number, limit?: number): Promise<ListPage | Obstacle> {
    const page = await fetchPage(deps, query, number, limit);
    requests += 1;
    return page;
  }

  /** Lands a page. @returns a promise that resolves when it has landed; `landed` awaits it, too. */
  function take(page: ListPage): Promise<unknown> {
    pages += 1;
    startedMs = Math.min(startedMs, page.requestedAt.getTime());
    for (const [index, id] of page.ids.entries()) seen.set(id, page.seconds[index]);
    for (const id of page.strays) strays.add(id);
    for (const { product_id } of page.check.products) products.add(product_id);
    const landing = land(page);
    // `landed` throws the error; until then it must not count as unhandled.
    landing.catch(() => {});
    landings.push(landing);
    return landing;
  }

  /** What was written since the first request was sent may be on no page yet: nothing later than this counts as read. */
  const readUntil = () => secondOf(new Date(startedMs)) - justNow;

  return {
    span,
    deps,
    /** The last page whose number is certain: page 30 may be a cap, with more behind it. */
    lastCertain: limitsOf(deps).pages - 1,
    ask,
    take,
    /** Ids of the products that were shown. */
    products,
    /** How many different records were shown. */
    seenCount: () => seen.size,
    hasSeen: (id: string) => seen.has(id),
    /**
     * Whether the list is of another period than the one asked for. One record of a hundred, or one of a day, may just be
     * dated oddly.
     */
    isOfOtherDates: () => strays.size > Math.max(seen.size / 100, span.end - span.start > 86_400 ? 0 : 1),
    readUntil,
    /** Resolves when every page has landed. */
    async landed(): Promise<void> {
      await Promise.all(landings);
    },
    /**
     * What was read. `ids`: all that were shown, also around the span. `reviews`: different ones dated within it, with the
     * dates of the `first`, the `middle` and the `last`. `startedAt`: when the first request was sent.
     */
    proven() {
      const dates = [...seen.values()].filter((second) => second !== undefined);
      const within = dates.filter((second) => second >= span.start && second < span.end).sort((a, b) => a - b);
      const reviews = within.length;
      return {
        span,
        ids: new Set(seen.keys()),
        reviews,
        first: within[0] ?? span.end,
        middle: within[Math.floor(reviews / 2)] ?? middleOf(span),
        last: within.at(-1) ?? span.end,
        pages,
        requests,
        startedAt: new Date(startedMs),
        readUntil: readUntil(),
      };
    },
  };
}

/**
 * Requests pages of a list and lands each as it comes. A slot is held until its page has landed, so that pages do not
 * pile up if the warehouse is slower than the service.
 *
 * @returns the pages, or the first obstacle, after which no more are requested.
 */
export async function takeAll(
  { ask, take }: Reader,
  query: PageQuery,
  numbers: readonly number[],
  size: number,
  slots: LimitFunction,
): Promise<ListPage[] | Obstacle> {
  let stopped: Obstacle | { error: unknown } | undefined;
  const one = async (number: number): Promise<ListPage[]> => {
    if (stopped) return [];
    try {
      const page = await ask(query, number, size);
      if (page.kind === 'page') await take(page);
      else stopped ??= page;
      return page.kind === 'page' ? [page] : [];
    } catch (error) {
      stopped = { error };
      return [];
    }
  };
  const pages = await slots.map(numbers, one);
  if (stopped && 'error' in stopped) throw stopped.error;
  return stopped ?? pages.flat();
}
