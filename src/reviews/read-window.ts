import pLimit from 'p-limit';
import type { ReviewApi } from '../review-api/index.ts';
import { localPeriod, parseInstant, type Second } from '../span.ts';
import type { Reading } from './next-step.ts';
import { type Axis, type Window, windowLimits } from './window.ts';

export type ReadDeps = {
  reviews: Pick<ReviewApi['reviews'], 'page'>;
  /** The zone in which the service reads dates without offset. */
  timeZone: string;
  signal: AbortSignal;
};

export type WindowReading = Reading & {
  /** The response bodies, in the order of the pages. */
  pages: string[];
  /** Different reviews. */
  reviews: number;
  requests: number;
};

type Page = { rawBody: string; ids: string[]; seconds: (Second | undefined)[]; lastPage: number | undefined };

/** Pages in flight at a time within one window. */
const pagesAtATime = 4;
const readingsAtMost = 10;

/**
 * Reads a window as far as the service lets one: at most 30 pages of 100 (spec, "List reviews").
 *
 * Pages shift while they are being read: a deletion moves a record from a page not yet read into one that was. So they
 * are read from the last to the first, and the last is looked at once more: if it changed, all are read again.
 *
 * @throws the client's errors; Error when the window never stood still.
 */
export async function readWindow(deps: ReadDeps, window: Window): Promise<WindowReading> {
  let requests = 0;
  const fetchPage = async (page: number): Promise<Page> => {
    deps.signal.throwIfAborted();
    requests += 1;
    const params = { axis: window.axis, ...localPeriod(window.span, deps.timeZone), limit: windowLimits.pageSize };
    const { rawBody, items, lastPage } = await deps.reviews.page(params, page);
    return { rawBody, lastPage, ids: items.map(idOf), seconds: items.map((item) => secondsOf(item, window.axis)) };
  };

  for (let reading = 1; reading <= readingsAtMost; reading += 1) {
    const pages = await readPages(fetchPage);
    if (pages.length === 1 || sameIds(pages.at(-1), await fetchPage(pages.length))) {
      return { ...judge(window, pages), requests };
    }
  }
  throw new Error(`the reviews of the window changed while it was read, ${readingsAtMost} times in a row`);
}

async function readPages(fetchPage: (page: number) => Promise<Page>): Promise<Page[]> {
  const first = await fetchPage(1);
  if (first.lastPage === undefined) return readUntilShort(first, fetchPage);
  const count = Math.min(Math.max(first.lastPage, 1), windowLimits.pages);
  const limit = pLimit(pagesAtATime);
  const numbers = Array.from({ length: count - 1 }, (_, index) => count - index);
  const rest = await Promise.all(numbers.map((number) => limit(() => fetchPage(number))));
  return [first, ...rest.reverse()];
}

/** A service that tells no last page: the first short page is the last. */
async function readUntilShort(first: Page, fetchPage: (page: number) => Promise<Page>): Promise<Page[]> {
  const pages = [first];
  while (pages.length < windowLimits.pages && pages.at(-1)?.ids.length === windowLimits.pageSize) {
    pages.push(await fetchPage(pages.length + 1));
  }
  return pages;
}

function judge(window: Window, pages: Page[]): Omit<WindowReading, 'requests'> {
  const seconds = pages.flatMap((page) => page.seconds);
  const last = pages.at(-1);
  const told = Math.max(...pages.map((page) => page.lastPage ?? 0));
  // A last page told as 30 may be the true one or a cap: only a page that is not full proves the end.
  const full = pages.length >= windowLimits.pages && (last?.ids.length ?? 0) >= windowLimits.pageSize;
  return {
    span: window.span,
    overflow: full || told > windowLimits.pages,
    ordered: seconds.every((second, index) => second !== undefined && second >= (seconds[index - 1] ?? second)),
    lastSecond: seconds.at(-1),
    pages: pages.map((page) => page.rawBody),
    reviews: new Set(pages.flatMap((page) => page.ids)).size,
  };
}

const sameIds = (one: Page | undefined, other: Page) => one?.ids.join() === other.ids.join();

/** A record without a usable id or date is still landed, as a dead letter; here it only has to differ from others. */
function idOf(item: unknown): string {
  const id = isObject(item) ? item.id : undefined;
  return typeof id === 'number' || typeof id === 'string' ? String(id) : JSON.stringify(item);
}

function secondsOf(item: unknown, axis: Axis): Second | undefined {
  const date = isObject(item) ? item[`${axis}_at`] : undefined;
  return typeof date === 'string' ? parseInstant(date) : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
