import type { Db } from '../index.ts';

export type OverviewCapture = { capturedAt: Date; first: string | null; last: string | null };

/** Stores a capture of the service's overview (ISO 8601 with offset, or null while the service has no review). */
export async function recordOverview(db: Db, capture: OverviewCapture): Promise<void> {
  await db
    .insertInto('warehouse.review_overview')
    .values({
      captured_at: capture.capturedAt,
      first_review_created_at: capture.first,
      last_review_created_at: capture.last,
    })
    .onConflict((conflict) => conflict.column('captured_at').doNothing())
    .execute();
}
