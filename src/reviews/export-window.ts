import type { Counts } from '../counts.ts';
import { IncompleteError } from '../errors.ts';
import { isoOf, type Span } from '../span.ts';
import { recordWindow } from '../warehouse/export-windows.ts';
import { inTransaction, type Warehouse } from '../warehouse/index.ts';
import { learnProducts } from '../warehouse/products.ts';
import { landReviews } from '../warehouse/reviews.ts';
import { nextStep } from './next-step.ts';
import { type ReadDeps, readWindow, type WindowReading } from './read-window.ts';
import type { Axis, Window } from './window.ts';

export type ExportDeps = ReadDeps & { warehouse: Warehouse; now: () => Date };

/**
 * Brings all reviews of a window into the warehouse, in as many parts as the service's limits make necessary. Each
 * part's rows and its entry in the ledger commit together, so that an interrupted export goes on behind the last part.
 *
 * @throws IncompleteError naming each second that holds more reviews than any query can reach.
 */
export async function exportWindow(deps: ExportDeps, runId: string, window: Window): Promise<Counts> {
  const counts = { windows: 0, requests: 0, inserted: 0, updated: 0, unchanged: 0, refused: 0 };
  const unreachable: string[] = [];
  const pending: Span[] = [window.span];
  for (let span = pending.pop(); span !== undefined; span = pending.pop()) {
    const startedAt = deps.now();
    const reading = await readWindow(deps, { axis: window.axis, span });
    const step = nextStep(reading);
    counts.requests += reading.requests;
    // The earliest rest is taken first: what an interruption leaves is then one span.
    if (step.kind !== 'done') pending.push(...step.rest.toReversed());
    if (step.kind === 'unreachable') unreachable.push(isoOf(step.second));
    const complete = 'complete' in step ? step.complete : undefined;
    const landed = await store(deps, { runId, axis: window.axis, complete, startedAt }, reading);
    counts.windows += complete ? 1 : 0;
    for (const kind of ['inserted', 'updated', 'unchanged', 'refused'] as const) counts[kind] += landed[kind];
  }
  if (unreachable.length > 0) {
    throw new IncompleteError(
      `The service holds more reviews of ${unreachable.join(', ')} than its 30 pages can show; those beyond are missing`,
      { hint: 'Everything else of the period is in the warehouse.' },
    );
  }
  return counts;
}

type Storing = { runId: string; axis: Axis; complete: Span | undefined; startedAt: Date };

/** What was read is landed even where the window is not complete: it is true, only the ledger may not say "all". */
async function store(deps: ExportDeps, storing: Storing, reading: WindowReading) {
  const { db, statements } = deps.warehouse;
  await learnProducts(
    db,
    statements,
    reading.pages.flatMap((page) => JSON.parse(page) as unknown[] as object[]),
  );
  return inTransaction(db, async (trx) => {
    const landed = { inserted: 0, updated: 0, unchanged: 0, refused: 0 };
    for (const page of reading.pages) {
      const one = await landReviews(trx, statements, page);
      for (const kind of ['inserted', 'updated', 'unchanged', 'refused'] as const) landed[kind] += one[kind];
    }
    if (storing.complete) {
      await recordWindow(trx, {
        runId: storing.runId,
        axis: storing.axis,
        span: storing.complete,
        pages: reading.pages.length,
        reviews: reading.reviews,
        requests: reading.requests,
        startedAt: storing.startedAt,
        finishedAt: deps.now(),
      });
    }
    return landed;
  });
}
