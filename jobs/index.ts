import type { AnyRunJob } from '../src/runs/define-run.ts';
import { backfillOrders } from './backfill-orders.ts';
import { backfillReviews } from './backfill-reviews.ts';
import { reconcileReviews } from './reconcile-reviews.ts';
import { rescanOrders } from './rescan-orders.ts';
import { syncCatalog } from './sync-catalog.ts';
import { syncOrders } from './sync-orders.ts';
import { syncReviews } from './sync-reviews.ts';

/** All jobs. */
export const jobs: readonly AnyRunJob[] = [
  syncCatalog,
  syncOrders,
  syncReviews,
  reconcileReviews,
  rescanOrders,
  backfillOrders,
  backfillReviews,
];
