import { localPeriod, type Second, type Span, without } from '../../base/time/span.ts';
import { type ListPage, limitsOf, type PageDeps } from './list-page.ts';
import type { Axis } from './window.ts';

/**
 * A span to be read: walked from first page to first page, or read by page numbers.
 *
 * `first`: a page that begins the span, of a list whose full pages have `fullPage` records.
 */
export type Todo = Readonly<{
  span: Span;
  how: 'walk' | 'pages';
  first?: { page: ListPage; fullPage: number } | undefined;
}>;

/**
 * How the reading of a span ends, unless it showed a date that was not asked for.
 *
 * - `proven`: everything of the span was shown, and the service holds no more.
 * - `reread`: the span has to be read in another way.
 * - `too-many`: no query can show all of it; the reason is a sentence.
 */
export type End = { kind: 'proven' } | { kind: 'reread'; todos: Todo[] } | { kind: 'too-many'; reason: string };

/** A span that was read to its end and proven. */
export type Proven = {
  /** The span, without the periods of pages with records that could not be written. */
  spans: readonly Span[];
  /** Every id that was shown, also around the span. */
  ids: ReadonlySet<string>;
  /** Different reviews dated within `spans`. */
  reviews: number;
  pages: number;
  requests: number;
  /** When its first request was sent. */
  startedAt: Date;
};

/** Lands one page. Returns false where some of its records could not be written and are dead letters. */
export type Land = (page: ListPage) => Promise<boolean>;

/** One span while it is read, from its first request until it is proven. */
export type Reading = {
  readonly deps: PageDeps;
  readonly axis: Axis;
  /** What this reading has to prove. It becomes shorter when the reading hands a part over to other readings. */
  span: Span;
  /** Every record that the span's list showed, by id, with its second where it has one. */
  readonly seen: Map<string, Second | undefined>;
  /** The first date that was shown and not asked for. */
  outOfRange: Second | undefined;
  requests: number;
  pages: number;
  /** Records of the largest page, at most as many as can be asked for: a service may repeat a record on its page. */
  largest: number;
  /** Records of a full page. */
  fullPage: number;
  /** Hands a page over to be landed. Pages land one after the other, while the next request is under way. */
  take(page: ListPage): Promise<void>;
  /** Resolves when every page has landed. */
  landed(): Promise<void>;
  /** Hands the end of the span over to other readings, which begin at once. */
  handOver(todos: readonly Todo[]): void;
  /** What the reading proves of its span, when every page has landed. */
  proven(): Proven;
};

export function beginReading(
  deps: PageDeps,
  axis: Axis,
  span: Span,
  { land, begin }: { land: Land; begin: (todos: readonly Todo[]) => void },
): Reading {
  let landing: Promise<void> = Promise.resolve();
  let startedAt: Date | undefined;
  /** Periods of pages with records that could not be written. */
  const unwritten: Span[] = [];
  const { first } = localPeriod(span, deps.timeZone);
  const page: PageDeps['reviews']['page'] = (...request) => {
    reading.requests += 1;
    return deps.reviews.page(...request);
  };
  const reading: Reading = {
    deps: { ...deps, reviews: { page } },
    axis,
    span,
    seen: new Map(),
    outOfRange: undefined,
    requests: 0,
    pages: 0,
    largest: 0,
    fullPage: limitsOf(deps).pageSize,
    async take(page) {
      reading.pages += 1;
      reading.largest = Math.min(limitsOf(deps).pageSize, Math.max(reading.largest, page.ids.length));
      reading.outOfRange ??= page.outOfRange;
      startedAt ??= page.requestedAt;
      for (const [index, id] of page.ids.entries()) {
        const second = page.seconds[index];
        // A page that another reading requested may begin before this span.
        if (second === undefined || second >= first) reading.seen.set(id, second);
      }
      await landing;
      landing = land(page).then((isWhole) => {
        if (!isWhole) unwritten.push(periodOf(page, span));
      });
      // The next `take` or `landed` throws the error; until then it must not count as unhandled.
      landing.catch(() => {});
    },
    landed: () => landing,
    handOver(todos) {
      const { start, end } = reading.span;
      reading.span = { start, end: Math.min(end, ...todos.map((todo) => todo.span.start)) };
      begin(todos);
    },
    proven() {
      const { seen, pages, requests } = reading;
      const spans = without(reading.span, unwritten);
      const isWithin = (second: Second | undefined) =>
        second !== undefined && spans.some((one) => second >= one.start && second < one.end);
      const reviews = [...seen.values()].filter(isWithin).length;
      return { spans, ids: new Set(seen.keys()), reviews, pages, requests, startedAt: startedAt ?? new Date(0) };
    },
  };
  return reading;
}

/** From the first to the last second of a page: a record without a date lies between its neighbours. */
function periodOf(page: ListPage, span: Span): Span {
  const seconds = page.seconds.filter((second) => second !== undefined);
  if (seconds.length === 0) return span;
  return { start: Math.max(span.start, Math.min(...seconds)), end: Math.min(span.end, Math.max(...seconds) + 1) };
}
