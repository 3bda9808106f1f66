import pLimit from 'p-limit';
import { type Counts, counted } from '../../base/counts.ts';
import { IncompleteError } from '../../base/errors.ts';
import { isoOf, partBefore, type Span, secondOf, without } from '../../base/time/span.ts';
import type { Warehouse } from '../../warehouse/index.ts';
import { absentIn } from '../../warehouse/reviews/absent-reviews.ts';
import { coveredSpans, enterSpan } from '../../warehouse/reviews/export-windows.ts';
import { landPage, type RawPage } from '../../warehouse/reviews/land-reviews.ts';
import { type Gap, openGap } from '../../warehouse/reviews/open-gaps.ts';
import { limitsOf, pageWithin } from './list-page.ts';
import { readSpan, type SpanEnd } from './read-span.ts';
import type { Land, Part, Proven, ReadDeps } from './reader.ts';
import { type Axis, clocksApart, cutSpan, halvesOf, justNow, type Window } from './window.ts';

/**
 * Brings all reviews of a window into the warehouse. Pages land as they come; a span enters the ledger once, when it is
 * proven, together with what its reading found absent. A retry reads what this run has not yet proven.
 *
 * @param read.findAbsent take note of what the warehouse holds of the window and the service did not show.
 * @throws IncompleteError naming what could not be read or proven. It is an open gap by then, and everything else of
 *   the window is in the warehouse and in the ledger.
 */
export async function readWindow(
  deps: ReadDeps & { warehouse: Warehouse },
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
    // What is written after the first request was sent may not have been shown: it must not be taken for read.
    const [span] = partBefore(proven.span, secondOf(proven.startedAt) - justNow);
    if (!span) return;
    const absent = findAbsent ? await absentIn(db, span, proven.ids) : [];
    await enterSpan(db, { ...proven, runId, axis, span, absent: absent.map(({ id }) => id) });
  }

  const beganAt = secondOf(deps.now());
  const left = without(window.span, await coveredSpans(db, axis, { runId }));
  const gaps = await readSpans(deps, axis, left, { land, enter });
  // The window of an incremental run ends a day ahead. What nobody can have written yet is no gap: the next run reads
  // it.
  const unread = gaps.flatMap((gap) => partBefore(gap.span, beganAt - justNow).map((span) => ({ ...gap, span })));
  for (const gap of unread) await openGap(db, axis, gap);
  if (unread.length > 0) throw incomplete(unread);
  return { windows: 1, ...counts };
}

/** Where the spans of a window go. `enter`: once for each proven span, when all its pages have landed. */
export type Ledger = { land: Land; enter(proven: Proven): Promise<void> };

/** Spans of a window that are read at a time. Each requests all pages of its list side by side. */
const spansAtATime = 4;
/** Spans of a window that are cut because their list is too long. 2,000 cuts reach 5.8 million reviews. */
const cutsAtMost = 2000;
/** Halvings of spans for each 44 days. One second in these takes 22. A later run halves the gap further. */
const halvingsAtMost = 24;
/** How long a half is requested if the service fails on it, in milliseconds. 22 halvings take some 7 s. */
const halfGiveUpMs = 500;

/**
 * Reads every review of the spans, whatever is added, changed or deleted meanwhile: what stood throughout is read.
 * `readSpan` says how each span ended:
 *
 * 1. A span that was read completely is entered.
 * 2. A span that holds too much is read in its parts.
 * 3. A span that the service refuses or fails on is halved, so that the gap is no larger than the obstacle. A service may
 *    refuse dates ahead of its clock: then the span is cut at the present, and what lies ahead is left out.
 * 4. What else cannot be read is a gap. Everything else is read all the same.
 *
 * @returns what cannot be called read.
 * @throws the client's errors where the service is down, and the ledger's, when every span that was begun has ended.
 */
export async function readSpans(
  deps: ReadDeps,
  axis: Axis,
  spans: readonly Span[],
  { land, enter }: Ledger,
): Promise<Gap[]> {
  const gaps: Gap[] = [];
  const failures: unknown[] = [];
  const limit = pLimit(spansAtATime);
  const present = secondOf(deps.now()) - clocksApart;
  const seconds = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  const mostHalvings = halvingsAtMost * Math.ceil(seconds / limitsOf(deps).seconds);
  let [cuts, halvings] = [0, 0];

  /** Lists of the longest span have about the same number of pages; others are shorter. */
  const isLong = ({ start, end }: Span) => end - start > limitsOf(deps).seconds / 2;

  /** Reads the first days of the part as one list, as many as a request may ask for; then the others. */
  async function read(part: Part): Promise<void> {
    if (failures.length > 0) return;
    const span = { start: part.span.start, end: Math.min(part.span.end, part.span.start + limitsOf(deps).seconds) };
    const guess = part.guess ?? (isLong(span) ? deps.pages.guess : 1);
    const end = await limit(() =>
      readSpan(deps, axis, { ...part, span, guess }, (page) => land(pageWithin(page, spans))),
    );
    if (isLong(span) && end.kind === 'too-long') deps.pages.guess = limitsOf(deps).pages - 1;
    if (isLong(span) && end.kind === 'proven') deps.pages.guess = Math.max(1, end.pages);
    const parts = await partsAfter(span, end);
    if (span.end === part.span.end) return readAll(parts);
    // The next list begins where this one ends, or is cut: so nearly all have 29 pages.
    const behind = end.kind === 'too-long' ? parts.pop() : undefined;
    return readAll([...parts, { span: { start: behind?.span.start ?? span.end, end: part.span.end } }]);
  }

  /** Enters the span or notes a gap. @returns in which parts the span is to be read. */
  async function partsAfter(span: Span, end: SpanEnd): Promise<Part[]> {
    switch (end.kind) {
      case 'proven':
        await enter(end);
        return [];
      case 'too-long': {
        cuts += 1;
        if (cuts <= cutsAtMost) return end.parts;
        const reason = `The reviews ${axis} from ${isoOf(span.start)} to ${isoOf(span.end)} take more than 2,000 lists`;
        gaps.push({ span, kind: 'too-many', reason });
        return [];
      }
      case 'changing':
      case 'crowded':
        gaps.push({ span, kind: end.kind === 'changing' ? 'unproven' : 'too-many', reason: end.reason });
        return [];
      case 'refused':
      case 'failed': {
        if (end.kind === 'refused' && span.start >= present) return [];
        const isAhead = end.kind === 'refused' && span.end > present;
        const halves = isAhead ? cutSpan(span, present, deps.timeZone) : halvesOf(span, deps.timeZone);
        if (halves.length === 0 || halvings === mostHalvings) {
          gaps.push({ span, ...end });
          return [];
        }
        halvings += 1;
        const patience = end.kind === 'failed' ? { giveUpAfterMs: halfGiveUpMs } : {};
        return halves.map((half) => ({ span: half, ...patience }));
      }
      default:
        return end satisfies never;
    }
  }
  const readAll = async (parts: readonly Part[]): Promise<void> => {
    await Promise.all(parts.map((part) => read(part).catch((error: unknown) => failures.push(error))));
  };

  await readAll(spans.map((span) => ({ span })));
  for (const failure of failures) throw failure;
  return [...gaps.filter((gap) => !isObstacle(gap)), ...joined(axis, gaps.filter(isObstacle))];
}

const isObstacle = ({ kind }: Gap) => kind === 'refused' || kind === 'failed';

/** Neighbours as one, with a sentence as the reason. */
function joined(axis: Axis, gaps: readonly Gap[]): Gap[] {
  const all: Gap[] = [];
  for (const gap of gaps.toSorted((a, b) => a.span.start - b.span.start)) {
    const last = all.at(-1);
    if (last?.span.end !== gap.span.start || last.kind !== gap.kind) all.push(gap);
    else all[all.length - 1] = { ...last, span: { start: last.span.start, end: gap.span.end } };
  }
  return all.map(({ span: { start, end }, kind, reason }) => ({
    span: { start, end },
    kind,
    reason: `The reviews ${axis} from ${isoOf(start)} to ${isoOf(end)} cannot be read: ${reason}`,
  }));
}

function incomplete(gaps: readonly Gap[]): IncompleteError {
  const first = new Map(gaps.toReversed().map((gap) => [gap.kind, gap.reason]));
  const more = gaps.length - first.size;
  const reasons = [...first.values()].reverse().join('. ');
  return new IncompleteError(more > 0 ? `${reasons}. ${more} more spans cannot be read for such reasons` : reasons, {
    hint:
      'Everything else of the period is in the warehouse. Later runs try these spans again; ' +
      'review-sync status lists them.',
  });
}

/**
 * Gives the memory of a page's body back at once. Left to the garbage collector, bodies that have landed take some
 * 30 MB. The page cannot be landed again. A body that shares its memory with others is left alone.
 */
export function releaseBody({ rawBody }: RawPage): void {
  const { buffer } = rawBody;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === rawBody.length) buffer.transfer(0);
}

/** The sentence with which a run reports open gaps; undefined if no gap is open. */
export function gapsProblem(open: readonly Gap[]): string | undefined {
  const [first] = open;
  if (!first) return undefined;
  const what = counted(open.length, 'span of reviews is not read', 'spans of reviews are not read');
  return `${what}; see review-sync status. The first: ${first.reason}`;
}
