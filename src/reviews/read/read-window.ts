import pLimit from 'p-limit';
import type { Counts } from '../../base/counts.ts';
import { partBefore, type Second, type Span, secondOf, without } from '../../base/time/span.ts';
import { absentIn } from '../../warehouse/reviews/absent-reviews.ts';
import { type Axis, coveredSpans, enterSpan, type Gap, openGap } from '../../warehouse/reviews/coverage.ts';
import { landPage, type RawPage } from '../../warehouse/reviews/land-reviews.ts';
import { justNow } from '../limits.ts';
import { doubtEmpty } from '../plan/review-bounds.ts';
import { limitsOf, type ReadDeps, type ReviewDeps, voidLooksAtMost } from '../review-deps.ts';
import { gapOf, incompleteError, joinedGaps } from './gaps.ts';
import { fetchPage, pageWithin } from './list-page.ts';
import { readSpan, type SpanEnd, type UnprovenSpan } from './read-span.ts';
import type { Land, Part, Proven } from './reader.ts';
import { cutSpan, halvesOf, type Window } from './window.ts';

/**
 * Brings all reviews of a window into the warehouse. Pages land as they come; a span enters the ledger once, when it is
 * proven, together with what its reading found absent. A retry reads what this run has not yet proven.
 *
 * @param read.findAbsent take note of what the warehouse holds of the window and the service did not show.
 * @throws IncompleteError naming what could not be read or proven. It is an open gap by then, and everything else of
 *   the window is in the warehouse and in the ledger.
 */
export async function readWindow(
  deps: ReviewDeps,
  { runId, window, findAbsent }: { runId: string; window: Window; findAbsent?: boolean },
): Promise<Counts> {
  const { axis } = window;
  const { db } = deps.warehouse;
  const counts = { reviews: 0, inserted: 0, updated: 0, unchanged: 0 };

  const land: Land = async (page) => {
    const landed = await landPage(deps.warehouse, page);
    releaseBody(page);
    counts.reviews += page.ids.length;
    for (const kind of ['inserted', 'updated', 'unchanged'] as const) counts[kind] += landed[kind];
  };

  async function enter(proven: Proven): Promise<void> {
    const [span] = partBefore(proven.span, proven.readUntil);
    if (!span) return;
    const absent = findAbsent ? await absentIn(db, span, proven.ids) : [];
    await enterSpan(db, { ...proven, runId, axis, span, absent: absent.map(({ id }) => id) });
  }

  const left = without(window.span, await coveredSpans(db, axis, { runId }));
  const gaps = await readSpans(deps, axis, left, { land, enter, doubt: (empty) => doubtEmpty(deps, empty) });
  for (const gap of gaps) await openGap(db, axis, gap);
  if (gaps.length > 0) throw incompleteError(gaps);
  return { windows: 1, ...counts };
}

/**
 * Where the spans of a window go. `enter`: once for each proven span, when all its pages have landed. `doubt`: why it is not
 * believed that a span has no reviews; undefined if it is.
 */
export type Ledger = {
  land: Land;
  enter(proven: Proven): Promise<void>;
  doubt(empty: Span): ReturnType<typeof doubtEmpty>;
};

/** Spans of a window that are read at a time. Each requests all pages of its list side by side. */
const spansAtATime = 4;
/** Requests after which no span of a window is cut any more, besides `requestsAReview` for each review that was proven. */
const requestsAtMost = 500;
const requestsAReview = 2;
/** Halvings of spans for each 44 days. One second in these takes 22. A later run halves the gap further. */
const halvingsAtMost = 24;
/** A failing list counts as a halving for each so many milliseconds. If the service never responds, a window takes 3 minutes. */
const halvingMs = 10_000;
/** How long a half is requested if the service fails on it, in milliseconds. 22 halvings take some 7 s. */
const halfGiveUpMs = 500;

/**
 * Reads every review of the spans, whatever is added, changed or deleted meanwhile: what stood throughout is read.
 *
 * 1. `readOnce`: the first days of a part are read as one list, as many as a request may ask for.
 * 2. `believed`: a list that was read to its end may show less than the period has. Then it is read in parts.
 * 3. A proven span is entered, any other one is read in parts (`partsAfter`). What cannot be read in parts is a gap.
 * 4. The days behind the list follow.
 *
 * @returns what cannot be called read. What lies ahead of now is left out: nobody can have written it, and the next run
 *   reads it.
 * @throws the client's errors where the service is down, and the ledger's, when every span that was begun has ended.
 */
export async function readSpans(
  deps: ReadDeps,
  axis: Axis,
  spans: readonly Span[],
  { land, enter, doubt }: Ledger,
): Promise<Gap[]> {
  const { lists, timeZone } = deps;
  const { seconds: longest, pages: pagesAtMost } = limitsOf(deps);
  const seconds = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  const present = secondOf(deps.now()) - justNow;
  const budget: Budget = { requests: requestsAtMost, halvings: halvingsAtMost * Math.ceil(seconds / longest) };
  const limit = pLimit(spansAtATime);
  const gaps: Gap[] = [];
  const failures: unknown[] = [];

  async function readParts(parts: readonly Part[]): Promise<void> {
    await Promise.all(parts.map((part) => readPart(part).catch((error: unknown) => failures.push(error))));
  }

  async function readPart(part: Part): Promise<void> {
    if (failures.length > 0) return;
    const span = { start: part.span.start, end: Math.min(part.span.end, part.span.start + longest) };
    // Lists of the longest span have about the same number of pages; others are shorter.
    const isLong = span.end - span.start > longest / 2;
    const guess = part.guess ?? (isLong ? lists.lastPageGuess : 1);
    const shown = await limit(() => readOnce({ ...part, span, guess }));
    if (isLong && shown.kind === 'too-long') lists.lastPageGuess = pagesAtMost - 1;
    if (isLong && shown.kind === 'proven') lists.lastPageGuess = Math.max(1, shown.pages);

    const end = shown.kind === 'proven' ? await believed(shown) : shown;
    budget.requests -= end.requests;
    const parts: Part[] = [];
    if (end.kind === 'proven') {
      budget.requests += requestsAReview * end.reviews;
      await enter(end);
    } else {
      parts.push(...partsAfter(span, end, budget, present, timeZone));
      if (parts.length === 0) gaps.push(gapOf(span, end));
    }

    if (span.end < part.span.end) {
      // The next list begins where this one ends, or is cut: so nearly all have 29 pages.
      const last = end.kind === 'too-long' && parts.length > 1 ? parts.pop() : undefined;
      parts.push({ span: { start: last?.span.start ?? span.end, end: part.span.end } });
    }
    await readParts(parts);
  }

  async function readOnce(part: Part): Promise<SpanEnd> {
    const startedMs = deps.now().getTime();
    const end = await readSpan(deps, axis, part, (page) => land(pageWithin(page, spans)));
    if (end.kind === 'failed') budget.halvings -= Math.floor((deps.now().getTime() - startedMs) / halvingMs);
    return end;
  }

  async function believed(read: Extract<SpanEnd, { kind: 'proven' }>): Promise<SpanEnd> {
    const { requests } = read;
    const voids = voidsOf(read, present);
    const parts = await partsAgain(deps, axis, read, voids);
    if (parts.length > 0) return { kind: 'too-long', requests, parts };
    for (const days of axis === 'created' ? voids : []) {
      const reason = await doubt(days);
      if (reason === undefined) continue;
      // An empty list is not halved: an empty half without the named review would count as read.
      if (read.reviews === 0) return { kind: 'doubted', requests, reason };
      const halves = halvesOf(read.span, timeZone);
      return { kind: 'too-long', requests, parts: halves.map((half) => ({ span: half })) };
    }
    return read;
  }

  await readParts(spans.map((span) => ({ span })));
  for (const failure of failures) throw failure;
  const unread = gaps.flatMap((gap) => partBefore(gap.span, present).map((span) => ({ ...gap, span })));
  return joinedGaps(axis, unread);
}

/** What the reading of a window may still cost. */
type Budget = { requests: number; halvings: number };

/**
 * In which parts a span is to be read that was not proven:
 *
 * - A list that is too long has its own parts.
 * - What the service refuses or fails on, or shows other dates for, is halved, so that the gap is no larger than the
 *   obstacle. A service may refuse dates ahead of its clock: then the span is cut at `present`.
 *
 * @param budget a cut takes of it.
 * @returns none if the span is a gap.
 */
function partsAfter(span: Span, end: UnprovenSpan, budget: Budget, present: Second, zone: string): Part[] {
  if (end.kind === 'too-long') return budget.requests < 0 ? [] : end.parts;
  const isAhead = end.kind === 'refused' && span.end > present;
  const isFixed = end.kind === 'crowded' || end.kind === 'changing' || end.kind === 'doubted';
  if (isFixed || budget.halvings <= 0 || (isAhead && span.start >= present)) return [];
  budget.halvings -= 1;
  const halves = isAhead ? cutSpan(span, present, zone) : halvesOf(span, zone);
  const giveUpAfterMs = end.kind === 'failed' ? halfGiveUpMs : undefined;
  return halves.map((half) => ({ span: half, giveUpAfterMs }));
}

/**
 * Gives the memory of a page's body back at once. Left to the garbage collector, bodies that have landed take some
 * 30 MB. The page cannot be landed again. A body that shares its memory with others is left alone.
 */
export function releaseBody({ rawBody }: RawPage): void {
  const { buffer } = rawBody;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === rawBody.length) buffer.transfer(0);
}

/** A list of fewer reviews is no sign that there are some each day. It leaves half of the looks to longer lists. */
const fewReviews = 100;
/** Seconds without reviews that are worth a look. A window may begin 26 hours before the first review. */
const longVoid = 27 * 3600;
/** A limit of a service is a multiple of this: 300 reviews of any list, pages of 30 without a second one. */
const roundNumber = 10;

/** The long parts of a span, until now, without reviews before the first and behind the last one; all of it if it has none. */
function voidsOf({ span, reviews, first, last }: Proven, present: Second): Span[] {
  const until = Math.min(span.end, present);
  const before = { start: span.start, end: reviews === 0 ? until : first - 1 };
  const voids = reviews === 0 ? [before] : [before, { start: last + 1, end: until }];
  return voids.filter(({ start, end }) => end - start > (reviews === 0 ? 0 : longVoid));
}

/**
 * The parts in which a list is to be read again that was read to its end, because a service may show less than the period it
 * is asked for, with the number of pages that fits:
 *
 * - An empty list that ends ahead of the service's clock: what lies before now.
 * - A list of a round number of reviews, if no list was longer: both halves.
 * - A list without reviews in its first or its last days, or in either half, if a request for these days alone shows some:
 *   both halves.
 */
async function partsAgain(deps: ReadDeps, axis: Axis, read: Proven, voids: readonly Span[]): Promise<Part[]> {
  const { span, reviews, first, middle, last, ids } = read;
  const { lists } = deps;
  if (reviews === 0 && voids.some(({ end }) => end < span.end)) return voids.map((one) => ({ span: one }));

  let isCut = reviews > 0 && ids.size >= lists.mostRecords && ids.size % roundNumber === 0;
  lists.mostRecords = Math.max(lists.mostRecords, ids.size);
  for (const days of reviews === 0 ? halvesOf(span, deps.timeZone) : voids) {
    if (days.end - days.start <= longVoid) continue;
    // After sixteen looks in vain the service shows whole periods.
    const isUsual = reviews < fewReviews ? lists.voidLooks <= voidLooksAtMost / 2 : lists.voidLooks === 0;
    const isNormal = reviews >= fewReviews && (days.end - days.start) * reviews < 10 * (last - first);
    if (isCut || isUsual || isNormal) continue;
    lists.voidLooks -= 1;
    const page = await lists.slots(() => fetchPage(deps, { axis, span: days }, 1, 1));
    isCut = page.kind === 'page' && page.seconds.some((second) => second !== undefined);
    if (isCut) lists.voidLooks = voidLooksAtMost;
  }
  return isCut ? cutSpan(span, middle, deps.timeZone).map((half) => ({ span: half })) : [];
}
