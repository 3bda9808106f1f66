import type { App } from '../src/app/app.ts';
import { countRefusedReviews } from '../src/warehouse/dead-letters.ts';
import { heldRemovalsProblem, removalsHeld } from '../src/warehouse/orders/order-removals.ts';
import type { Conclusion } from './define-run.ts';

/** Counts the reviews of which a record was refused. The steps cannot: a run may read a review by several of them. */
export async function countRefused(app: App, { startedAt }: { startedAt: Date }): Promise<Conclusion> {
  return {
    counts: { refused: await countRefusedReviews(app.warehouse.db, app.now().getTime() - startedAt.getTime()) },
  };
}

/** Says how many removals are held back. Each of them has an open dead letter, so the run is incomplete already. */
export async function countHeldRemovals({ warehouse }: App): Promise<Conclusion> {
  const held = await removalsHeld(warehouse.db);
  return held === 0 ? { counts: {} } : { counts: { removals_held: held }, note: heldRemovalsProblem(held) };
}
