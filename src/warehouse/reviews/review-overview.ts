import { type Db, write } from '../index.ts';

export type OverviewCapture = { capturedAt: Date; first: string | null; last: string | null };

/** Stores a capture of the service's overview (ISO 8601 with offset, or null while the service has no review). */
export async function recordOverview(db: Db, capture: OverviewCapture): Promise<void> {
  await write(db)`
    insert into warehouse.review_overview (captured_at, first_review_created_at, last_review_created_at)
    values (${capture.capturedAt}, ${capture.first}, ${capture.last}) on conflict do nothing`;
}
