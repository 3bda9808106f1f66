import type { Counts } from '../base/counts.ts';
import { IncompleteError } from '../base/errors.ts';
import { partBefore, secondOf, without } from '../base/time/span.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { absentIn } from '../warehouse/reviews/absent-reviews.ts';
import { coveredSpans, enterSpans } from '../warehouse/reviews/export-windows.ts';
import { landPage, releaseBody } from '../warehouse/reviews/land-reviews.ts';
import { type LateCandidates, ledgerNow } from '../warehouse/reviews/lateness.ts';
import { storedVersions } from '../warehouse/reviews/one-review.ts';
import { type Gap, openGap } from '../warehouse/reviews/open-gaps.ts';
import type { ListPage } from './read/list-page.ts';
import { type ReadDeps, readSpans } from './read/read-spans.ts';
import type { Proven } from './read/reading.ts';
import type { Window } from './read/window.ts';

export type ExportDeps = ReadDeps & { warehouse: Warehouse; now: () => Date };

export type Export = {
  runId: string;
  window: Window;
  /** Take note of what was shown only after its own date had been proven. */
  findLate?: boolean;
  /** Take note of what the warehouse holds of the window and the service did not show. */
  findAbsent?: boolean;
};

/** Seconds before the reading began that count as not yet proven: what is written just then may not be listed yet. */
const justNow = 60;
/** So many reviews missing from one span are not believed unless at least as many were shown. */
const fewAbsent = 20;

/**
 * Brings all reviews of a window into the warehouse. Pages land as they come; a span enters the ledger once, when it is
 * proven, together with what its reading found absent or late. A retry reads what this run has not yet proven.
 *
 * @throws IncompleteError naming what could not be read or proven. It is an open gap by then, and everything else of
 *   the window is in the warehouse and in the ledger.
 */
export async function exportWindow(deps: ExportDeps, work: Export): Promise<Counts> {
  const { runId, window } = work;
  const { db } = deps.warehouse;
  const counts = { inserted: 0, updated: 0, unchanged: 0, late: 0 };
  const ledger = work.findLate ? await ledgerNow(db) : undefined;
  const late = ledger && !ledger.isEmpty ? lateFinder(deps.warehouse, ledger.at) : undefined;

  async function land(page: ListPage): Promise<boolean> {
    await late?.look(page);
    const landed = await landPage(deps.warehouse, page);
    releaseBody(page);
    for (const kind of ['inserted', 'updated', 'unchanged'] as const) counts[kind] += landed[kind];
    return landed.refused === 0;
  }

  async function enter(proven: Proven): Promise<string | undefined> {
    // What is written after the first request was sent may not have been shown: it must not be taken for read.
    const spans = proven.spans.flatMap((span) => partBefore(span, secondOf(proven.startedAt) - justNow));
    const absent: number[] = [];
    for (const span of work.findAbsent ? spans : []) {
      const found = await absentIn(db, span, proven.ids);
      absent.push(...found.map(({ id }) => id));
    }
    const shown = proven.reviews;
    if (absent.length >= fewAbsent && absent.length > shown) return tooFewReason(shown, shown + absent.length);
    const entry = { ...proven, runId, axis: window.axis, spans, absent, late: late?.take(proven.ids) };
    // Two statements: spans are entered side by side, and `counts.late += await …` would add to the value of before the
    // wait.
    const found = await enterSpans(db, entry);
    counts.late += found;
    return undefined;
  }

  const beganAt = secondOf(deps.now());
  const left = without(window.span, await coveredSpans(db, window.axis, { runId }));
  const { gaps, ...read } = await readSpans(deps, window, { land, enter }, left);
  // The window of an incremental run ends a day ahead. What nobody can have written yet is no gap: the next run reads
  // it.
  for (const gap of gaps) {
    for (const span of partBefore(gap.span, beganAt - justNow)) await openGap(db, window.axis, { ...gap, span });
  }
  // A record that could not be written is a dead letter, which makes the run incomplete by itself.
  const unread = gaps.filter((gap) => gap.kind !== 'dead-letter');
  if (unread.length > 0) throw incomplete(unread);
  return { windows: 1, ...read, ...counts };
}

/** The reviews that a reading brings and the warehouse did not hold, looked up before each page lands. */
function lateFinder(warehouse: Warehouse, before: Date) {
  const found = new Map<number, 'inserted' | 'updated'>();
  return {
    async look(page: ListPage): Promise<void> {
      const ids = page.ids.filter((id) => /^\d{1,15}$/.test(id)).map(Number);
      const stored = await storedVersions(warehouse.db, ids);
      for (const [index, text] of page.ids.entries()) {
        const [id, updated] = [Number(text), page.check.dates[index]?.updated_at];
        const before = stored.get(id);
        if (before === undefined) found.set(id, 'inserted');
        else if (updated !== undefined && updated > before.getTime()) found.set(id, 'updated');
      }
    },
    take(ids: ReadonlySet<string>): LateCandidates {
      const candidates = { inserted: [] as number[], updated: [] as number[], before };
      for (const [id, kind] of found) if (ids.has(String(id))) candidates[kind].push(id);
      return candidates;
    },
  };
}

export const tooFewReason = (shown: number, held: number) =>
  `The service shows ${shown.toLocaleString('en')} of ` +
  `${held.toLocaleString('en')} reviews that the warehouse holds: ` +
  'too few to believe that the others were deleted, so none was marked';

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
