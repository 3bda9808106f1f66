import { gaps, localPeriod, type Second, type Span } from '../../base/time/span.ts';
import { limitsOf, type Page, type PageDeps } from './list-page.ts';
import type { Axis } from './window.ts';

/**
 * A span to be read: walked from first page to first page, or read by page numbers.
 *
 * `first`: a page that begins the span, of a list whose full pages have `fullPage` records.
 */
export type Todo = Readonly<{
  span: Span;
  how: 'walk' | 'pages';
  first?: { page: Page; fullPage: number } | undefined;
}>;

/** Lands one page. Returns false where some of its records could not be written and are dead letters. */
export type Land = (page: Page) => Promise<boolean>;

/** One span while it is read, from its first request until it is proven. */
export type Reading = {
  readonly deps: PageDeps & { meter: { requests: number } };
  readonly axis: Axis;
  /** What this reading has to prove. It becomes shorter when the reading leaves a part to other readings. */
  span: Span;
  /** Every record that the span's list showed, by id, with its second where it has one. */
  readonly seen: Map<string, Second | undefined>;
  /** Periods of pages with records that could not be written. */
  readonly unwritten: Span[];
  pages: number;
  /** Records of the largest page. */
  largest: number;
  /** Records of a full page. */
  fullPage: number;
  /** When the first request was sent. */
  startedAt: Date | undefined;
  /** Hands a page over to be landed. Pages land one after the other, while the next request is under way. */
  take(page: Page): Promise<void>;
  /** Resolves when every page has landed. */
  landed(): Promise<void>;
  /** Hands the end of the span over to other readings, which begin at once. */
  leave(todos: readonly Todo[]): void;
};

export function beginReading(
  deps: PageDeps,
  axis: Axis,
  span: Span,
  { land, begin }: { land: Land; begin: (todos: readonly Todo[]) => void },
): Reading {
  let landing: Promise<void> = Promise.resolve();
  const { first } = localPeriod(span, deps.timeZone);
  const reading: Reading = {
    deps: { ...deps, meter: { requests: 0 } },
    axis,
    span,
    seen: new Map(),
    unwritten: [],
    pages: 0,
    largest: 0,
    fullPage: limitsOf(deps).pageSize,
    startedAt: undefined,
    async take(page) {
      reading.pages += 1;
      reading.largest = Math.max(reading.largest, page.ids.length);
      reading.startedAt ??= page.requestedAt;
      for (const [index, id] of page.ids.entries()) {
        const second = page.seconds[index];
        // A page that another reading requested may begin before this span.
        if (second === undefined || second >= first) reading.seen.set(id, second);
      }
      await landing;
      landing = land(page).then((isWhole) => {
        if (!isWhole) reading.unwritten.push(periodOf(page, span));
      });
      // The next `take` or `landed` throws the error; until then it must not count as unhandled.
      landing.catch(() => {});
    },
    landed: () => landing,
    leave(todos) {
      const { start, end } = reading.span;
      reading.span = { start, end: Math.min(end, ...todos.map((todo) => todo.span.start)) };
      begin(todos);
    },
  };
  return reading;
}

/** The parts of the reading's span whose records were all written. */
export const writtenSpans = ({ span, unwritten }: Reading): Span[] => gaps(span, unwritten);

/** From the first to the last second of a page: a record without a date lies between its neighbours. */
function periodOf(page: Page, span: Span): Span {
  const seconds = page.seconds.filter((second) => second !== undefined);
  if (seconds.length === 0) return span;
  return { start: Math.max(span.start, Math.min(...seconds)), end: Math.min(span.end, Math.max(...seconds) + 1) };
}
