import pLimit from 'p-limit';
import { type Counts, counted } from '../../base/counts.ts';
import { IncompleteError } from '../../base/errors.ts';
import { isoOf, partBefore, type Second, type Span, secondOf, without } from '../../base/time/span.ts';
import { absentIn } from '../../warehouse/reviews/absent-reviews.ts';
import { type Axis, coveredSpans, enterSpan, type Gap, openGap } from '../../warehouse/reviews/coverage.ts';
import { landPage, type RawPage } from '../../warehouse/reviews/land-reviews.ts';
import { justNow } from '../limits.ts';
import { doubtEmpty } from '../plan/review-bounds.ts';
import { limitsOf, type ReadDeps, type ReviewDeps } from '../review-deps.ts';
import { cutSpan, halvesOf, type Window } from '../windows.ts';
import { fetchPage, pageWithin } from './list-page.ts';
import type { Land, Part, Proven } from './read-list.ts';
import { inParts, readSpan, type SpanEnd, type Unread } from './read-span.ts';

/**
 * Brings all reviews of a window into the warehouse. Pages land as they come. When a span is proven, it enters the
 * ledger once, together with the reviews that its reading found absent. A retry reads the spans not yet proven.
 *
 * @param read.findAbsent whether to note reviews of the window that the warehouse holds and the service did not show.
 * @throws IncompleteError with the spans that could not be read or proven. They are then open gaps, and the rest of the
 *   window is in the warehouse and in the ledger.
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
  const gaps = await readSpans(deps, axis, left, { land, enter, doubt: (...empty) => doubtEmpty(deps, ...empty) });
  for (const gap of gaps) await openGap(db, axis, gap);
  if (gaps.length > 0) throw incompleteError(gaps);
  return { windows: 1, ...counts };
}

/**
 * The callbacks for the spans of a window. `enter`: called once for each proven span, when all its pages have landed.
 * `doubt`: why a span that shows no reviews may have some; undefined if it has none.
 */
export type Ledger = {
  land: Land;
  enter(proven: Proven): Promise<void>;
  doubt(empty: Span, ids: Set<string>): ReturnType<typeof doubtEmpty>;
};

/** Spans of a window that are read at a time. Each requests all pages of its list side by side. */
const spansAtATime = 4;
/**
 * After this many requests, and `requestsAReview` for each proven review, a window cuts no more lists that are too long
 * or doubted. Spans that are refused or fail are still halved.
 */
const requestsAtMost = 500;
const requestsAReview = 2;
/** Halvings of spans for each 44 days. 22 halvings reach one second. A later run halves the gap further. */
const halvingsAtMost = 24;
/** A failing list counts as one halving per 10 s. If the service never responds, a window takes 3 minutes. */
const halvingMs = 10_000;
/** How long to request a half if the service fails on it, in milliseconds. 22 halvings take some 7 s. */
const halfGiveUpMs = 500;

/**
 * Reads every review that is in the spans throughout, whatever is added, changed or deleted meanwhile.
 *
 * 1. `readSpan`: reads the first days of a part as one list, as many days as one request may have.
 * 2. `whyDoubted`: checks whether a list that was read to its end shows less than the period has.
 * 3. A proven span is entered. Any other span is read in parts (`partsOf`), or is a gap if it has no parts.
 * 4. The days behind the list follow as the next part.
 *
 * @returns the spans that count as not read. Spans ahead of now are left out: nobody can have written a review there,
 *   and the next run reads them.
 * @throws the client's errors if the service is down, and the ledger's errors, after every started span has ended.
 */
export async function readSpans(
  deps: ReadDeps,
  axis: Axis,
  spans: readonly Span[],
  { land, enter, doubt }: Ledger,
): Promise<Gap[]> {
  const { timeZone } = deps;
  const longest = limitsOf(deps).seconds;
  const present = secondOf(deps.now()) - justNow;
  const limit = pLimit(spansAtATime);
  let requestsLeft = requestsAtMost;
  const seconds = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  let halvingsLeft = halvingsAtMost * Math.ceil(seconds / longest);
  const gaps: Gap[] = [];
  const failures: unknown[] = [];

  async function readParts(parts: readonly Part[]): Promise<void> {
    await Promise.all(parts.map((part) => readPart(part).catch((error: unknown) => failures.push(error))));
  }

  async function readPart(part: Part): Promise<void> {
    if (failures.length > 0) return;
    const span = { start: part.span.start, end: Math.min(part.span.end, part.span.start + longest) };
    const read = await limit(() => timed({ ...part, span }));
    const end = (read.kind === 'proven' && (await whyDoubted(deps, axis, read, present, doubt))) || read;
    requestsLeft -= read.requests;
    const parts: Part[] = [];
    if (end.kind === 'proven') {
      requestsLeft += requestsAReview * end.reviews;
      await enter(end);
    } else {
      parts.push(...partsOf(span, end));
      if (parts.length === 0) gaps.push({ span, kind: end.kind, reason: end.reason });
    }
    if (span.end < part.span.end) {
      // The next list begins where this list ends or is cut, so nearly all lists have 29 pages.
      const last = end.kind === 'too-many' && parts.length > 1 ? parts.pop() : undefined;
      parts.push({ span: { start: last?.span.start ?? span.end, end: part.span.end } });
    }
    await readParts(parts);
  }

  async function timed(part: Part): Promise<SpanEnd> {
    const startedMs = deps.now().getTime();
    const end = await readSpan(deps, axis, part, (page) => land(pageWithin(page, spans)));
    if (end.kind === 'failed') halvingsLeft -= Math.floor((deps.now().getTime() - startedMs) / halvingMs);
    return end;
  }

  /**
   * The parts to read an unread span in: `end.parts`, or halves, so the gap is no larger than the obstacle. If a span
   * goes beyond `present`, it is cut there: a service may refuse dates ahead of its clock, or fail on them.
   */
  function partsOf(span: Span, end: Unread): readonly Part[] {
    if (end.parts) return requestsLeft < 0 ? [] : end.parts;
    const isAhead = span.end > present;
    if (halvingsLeft <= 0 || (isAhead && span.start >= present)) return [];
    halvingsLeft -= 1;
    const halves = isAhead ? cutSpan(span, present, timeZone) : halvesOf(span, timeZone);
    const giveUpAfterMs = end.kind === 'failed' ? halfGiveUpMs : undefined;
    return halves.map((half) => ({ span: half, giveUpAfterMs }));
  }

  await readParts(asParts(spans));
  for (const failure of failures) throw failure;
  const unread = gaps.flatMap((gap) => partBefore(gap.span, present).map((span) => ({ ...gap, span })));
  return joinedGaps(axis, unread);
}

/**
 * Frees the memory of a page's body at once. With the garbage collector alone, landed bodies take some 30 MB. The page
 * cannot be landed again. A body that shares its memory with others is not freed.
 */
export function releaseBody({ rawBody }: RawPage): void {
  const { buffer } = rawBody;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === rawBody.length) buffer.transfer(0);
}

/** More seconds than this without reviews are checked. A window may begin 26 hours before the first review. */
const longVoid = 27 * 3600;
/** A service's cap is a multiple of this: 300 reviews a list, or a single page of 30. */
const roundNumber = 10;

/**
 * Why a list may show less than its period has, although it was read to its end. The list is read in parts if it is:
 *
 * - an empty list that ends ahead of the service's clock: the part before now;
 * - the longest list so far, with a round number of reviews: both halves;
 * - a list without reviews in its first or last days, or in either half, if a request for these days alone shows
 *   reviews: both halves;
 * - a list without the review that `doubt` names: both halves. If the list is empty, it is a gap, because its half
 *   without the review would count as read.
 */
async function whyDoubted(
  deps: ReadDeps,
  axis: Axis,
  read: Proven,
  present: Second,
  doubt: Ledger['doubt'],
): Promise<Unread | undefined> {
  const { span, reviews, first, middle, last, ids } = read;
  const { lists, timeZone } = deps;
  const until = Math.min(span.end, present);
  const [past] = partBefore(span, until);
  if (!past) return undefined;
  if (reviews === 0 && until < span.end) return inParts(asParts([past]));

  // A list includes the second in which its span ends, so the first void ends a second before the first review.
  const edges = [
    { start: span.start, end: first - 1 },
    { start: last + 1, end: until },
  ];
  const voids = (reviews === 0 ? halvesOf(span, timeZone) : edges).filter(({ start, end }) => end - start > longVoid);
  let isCut = reviews > 0 && ids.size >= lists.mostRecords && ids.size % roundNumber === 0;
  lists.mostRecords = Math.max(lists.mostRecords, ids.size);
  for (const days of voids) {
    if (isCut) break;
    const page = await lists.slots(() => fetchPage(deps, { axis, span: days }, 1, 1));
    isCut = page.kind === 'page' && page.seconds.some((second) => second !== undefined);
  }
  // The shortest span of a request stays as it is.
  const halves = isCut ? cutSpan(span, middle, timeZone) : [];
  if (halves.length > 0) return inParts(asParts(halves));

  for (const days of axis === 'updated' ? [] : reviews === 0 ? [span] : voids) {
    const reason = await doubt(days, ids);
    if (reason === undefined) continue;
    return { ...inParts(reviews === 0 ? [] : asParts(halvesOf(span, timeZone))), kind: 'unproven', reason };
  }
  return undefined;
}

const asParts = (spans: readonly Span[]): Part[] => spans.map((span) => ({ span }));

/** Joins adjacent gaps of one kind, with the reason of the first, and makes a sentence of each reason. */
export function joinedGaps(axis: Axis, gaps: readonly Gap[]): Gap[] {
  const all: Gap[] = [];
  for (const gap of gaps.toSorted((a, b) => a.span.start - b.span.start)) {
    const last = all.at(-1);
    if (last?.span.end !== gap.span.start || last.kind !== gap.kind) all.push(gap);
    else all[all.length - 1] = { ...last, span: { start: last.span.start, end: gap.span.end } };
  }
  return all.map((gap) => {
    const span = `${isoOf(gap.span.start)} to ${isoOf(gap.span.end)}`;
    return { ...gap, reason: `The reviews ${axis} from ${span} cannot be read: ${gap.reason}` };
  });
}

export function incompleteError(gaps: readonly Gap[]): IncompleteError {
  const first = new Map(gaps.toReversed().map((gap) => [gap.kind, gap.reason]));
  const more = gaps.length - first.size;
  const reasons = [...first.values()].reverse();
  if (more > 0) reasons.push(`${counted(more, 'more span')} cannot be read for such reasons`);
  return new IncompleteError(reasons.join('. '), {
    hint:
      'Everything else of the period is in the warehouse. Later runs try these spans again; ' +
      'review-sync status lists them.',
  });
}

/** The sentence about open gaps in a run's result; undefined if no gap is open. */
export function gapsProblem(open: readonly Gap[]): string | undefined {
  const [first] = open;
  if (!first) return undefined;
  const what = counted(open.length, 'span of reviews is not read', 'spans of reviews are not read');
  return `${what}; see review-sync status. The first: ${first.reason}`;
}
