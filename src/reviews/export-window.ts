import type { Counts } from '../counts.ts';
import { IncompleteError } from '../errors.ts';
import { gaps, type Span } from '../span.ts';
import { noteAbsent } from '../warehouse/absent-reviews.ts';
import { coveredSpans, revokeWindows } from '../warehouse/export-windows.ts';
import type { Warehouse } from '../warehouse/index.ts';
import { learnProducts } from '../warehouse/products.ts';
import { type LedgerEntry, landPage } from '../warehouse/reviews.ts';
import type { Part } from './part.ts';
import { readSpan } from './read-span.ts';
import type { ReadDeps, Sink } from './span-run.ts';
import { type Window, windowLimits } from './window.ts';

export type ExportDeps = ReadDeps & { warehouse: Warehouse };

export type Export = {
  runId: string;
  /** When the run began: what it has read since then is not read again. */
  since: Date;
  window: Window;
  /** What is dated before this moment and was not in the warehouse came late. */
  lateBefore?: Date | undefined;
  /** Take note of what the warehouse holds of the window and the service did not show. */
  findAbsent?: boolean;
};

const kinds = ['inserted', 'updated', 'unchanged', 'refused', 'late'] as const;

/**
 * Brings all reviews of a window into the warehouse. Each page and what it completes in the ledger commit together, so
 * that an interrupted export goes on behind the last page.
 *
 * @throws IncompleteError telling what could not be completed, and why.
 */
export async function exportWindow(deps: ExportDeps, work: Export): Promise<Counts> {
  const { runId, since, window } = work;
  const counts = { windows: 0, requests: 0, reviews: 0, inserted: 0, updated: 0, unchanged: 0, refused: 0, late: 0 };
  const rows = new WeakMap<object, { windowId: number | undefined; pages: number }>();
  /** Requests of parts that completed nothing: they count with the part that does. */
  const owed = new WeakMap<object, number>();
  const { db } = deps.warehouse;

  const land: Sink['land'] = async (part, lane) => {
    await learnProducts(
      deps.warehouse,
      part.pages.flatMap((page) => page.products),
    );
    let row = rows.get(lane);
    // A window is at most thirty pages (CONTRACT, "Words"); what goes on behind them is the next one.
    if (!row || row.pages + part.pages.length > windowLimits.pages) {
      counts.windows += part.complete ? 1 : 0;
      row = { windowId: undefined, pages: 0 };
    }
    const entry = {
      runId,
      axis: window.axis,
      startedAt: part.startedAt,
      lateBefore: work.lateBefore,
      windowId: row.windowId,
    };
    const requests = part.requests + (owed.get(lane) ?? 0);
    owed.set(lane, part.complete ? 0 : requests);
    const landed = await landPart(deps.warehouse, { ...part, requests }, entry);
    for (const kind of kinds) counts[kind] += landed[kind];
    counts.requests += part.requests;
    counts.reviews += part.complete ? part.reviews : 0;
    if (part.complete) rows.set(lane, { windowId: landed.windowId, pages: row.pages + part.pages.length });
    else rows.delete(lane);
    if (work.findAbsent && part.complete) await noteAbsent(db, runId, part.complete, part.ids);
  };

  const revoke = (span: Span) => revokeWindows(db, { runId, axis: window.axis, span });

  const unreachable: string[] = [];
  for (const span of gaps(window.span, await coveredSpans(db, window.axis, { runId, since }))) {
    unreachable.push(...(await readSpan(deps, { axis: window.axis, span }, { land, revoke })));
  }
  if (unreachable.length > 0) {
    throw new IncompleteError(unreachable.join('. '), {
      hint: 'What could be read, and everything else of the period, is in the warehouse.',
    });
  }
  return counts;
}

const emptyPage = { rawBody: Buffer.from('[]'), count: 0 };

type Given = Omit<LedgerEntry, 'complete' | 'pages' | 'reviews' | 'requests'>;

/** What was read is landed even where nothing is complete: it is true, only the ledger may not say "all". */
async function landPart(warehouse: Warehouse, part: Part, given: Given) {
  const sum = { inserted: 0, updated: 0, unchanged: 0, refused: 0, late: 0 };
  const bodies =
    part.pages.length > 0
      ? part.pages.map(({ rawBody, ids, isPlain }) => ({ rawBody, count: ids.length, isPlain }))
      : [emptyPage];
  let windowId: number | undefined;
  for (const [index, body] of bodies.entries()) {
    // The ledger follows with the last page, when all others are there.
    const isLast = index === bodies.length - 1;
    const complete = isLast ? part.complete : undefined;
    const { reviews, requests } = part;
    const landed = await landPage(warehouse, body, { ...given, complete, pages: part.pages.length, reviews, requests });
    for (const kind of kinds) sum[kind] += landed[kind];
    windowId = landed.windowId;
  }
  return { ...sum, windowId };
}
