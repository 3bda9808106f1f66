import type { App } from '../src/app.ts';
import type { AnyRunJob } from '../src/queue/job.ts';
import { backfillOrders } from './backfill-orders.ts';
import { backfillReviews } from './backfill-reviews.ts';
import { reconcileReviews } from './reconcile-reviews.ts';
import { syncCatalog } from './sync-catalog.ts';
import { syncOrders } from './sync-orders.ts';
import { syncReviews } from './sync-reviews.ts';

/** Everything that runs. */
export const jobs: readonly AnyRunJob<App>[] = [
  syncCatalog,
  syncOrders,
  syncReviews,
  reconcileReviews,
  backfillOrders,
  backfillReviews,
];
