import { type Counts, counted } from '../base/counts.ts';
import { IncompleteError } from '../base/errors.ts';
import { partBefore, secondOf, without } from '../base/time/span.ts';
import type { Db } from '../warehouse/index.ts';
import { absentIn } from '../warehouse/reviews/absent-reviews.ts';
import { coveredSpans, enterSpan } from '../warehouse/reviews/export-windows.ts';
import { landPage, type RawPage } from '../warehouse/reviews/land-reviews.ts';
import { type Gap, openGap, openGaps } from '../warehouse/reviews/open-gaps.ts';
import { justNow } from './plan/review-bounds.ts';
import type { ListPage } from './read/list-page.ts';
import { readSpans } from './read/read-spans.ts';
import type { Proven } from './read/reading.ts';
import type { Window } from './read/window.ts';
import type { ReviewDeps } from './review-deps.ts';

/**
 * Brings all reviews of a window into the warehouse. Pages land as they come; a span enters the ledger once, when it is
 * proven, together with what its reading found absent. A retry reads what this run has not yet proven.
 *
 * @param export.findAbsent take note of what the warehouse holds of the window and the service did not show.
 * @throws IncompleteError naming what could not be read or proven. It is an open gap by then, and everything else of
 *   the window is in the warehouse and in the ledger.
 */
export async function exportWindow(
  deps: ReviewDeps,
  { runId, window, findAbsent }: { runId: string; window: Window; findAbsent?: boolean },
): Promise<Counts> {
  const { db } = deps.warehouse;
  const counts = { reviews: 0, inserted: 0, updated: 0, unchanged: 0 };

  async function land(page: ListPage): Promise<void> {
    const landed = await landPage(deps.warehouse, page);
    releaseBody(page);
    counts.reviews += page.ids.length;
    for (const kind of ['inserted', 'updated', 'unchanged'] as const) counts[kind] += landed[kind];
  }

  async function enter(proven: Proven): Promise<void> {
    // What is written after the first request was sent may not have been shown: it must not be taken for read.
    const [span] = partBefore(proven.span, secondOf(proven.startedAt) - justNow);
    if (!span) return;
    const absent = findAbsent ? await absentIn(db, span, proven.ids) : [];
    await enterSpan(db, { ...proven, runId, axis: window.axis, span, absent: absent.map(({ id }) => id) });
  }

  const beganAt = secondOf(deps.now());
  const left = without(window.span, await coveredSpans(db, window.axis, { runId }));
  const gaps = await readSpans(deps, window, { land, enter }, left);
  // The window of an incremental run ends a day ahead. What nobody can have written yet is no gap: the next run reads
  // it.
  const unread = gaps.flatMap((gap) => partBefore(gap.span, beganAt - justNow).map((span) => ({ ...gap, span })));
  for (const gap of unread) await openGap(db, window.axis, gap);
  if (unread.length > 0) throw incomplete(unread);
  return { windows: 1, ...counts };
}

function incomplete(gaps: readonly Gap[]): IncompleteError {
  const first = new Map(gaps.toReversed().map((gap) => [gap.kind, gap.reason]));
  const more = gaps.length - first.size;
  const reasons = [...first.values()].reverse().join('. ');
  return new IncompleteError(more > 0 ? `${reasons}. ${more} more spans cannot be read for such reasons` : reasons, {
    hint:
      'Everything else of the period is in the warehouse. Later runs try these spans again; ' +
      'npx review-sync status lists them.',
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

/** The sentence with which a run reports open gaps; undefined where no gap is open. */
export async function gapsProblem(db: Db): Promise<string | undefined> {
  const open = await openGaps(db);
  const [first] = open;
  if (!first) return undefined;
  const what = counted(open.length, 'span of reviews is not read', 'spans of reviews are not read');
  return `${what}; see npx review-sync status. The first: ${first.reason}`;
}
