import { syncOrders } from '../../jobs/sync-orders.ts';
import { syncReviews } from '../../jobs/sync-reviews.ts';
import { openApp } from '../../src/app/app.ts';
import { openLog } from '../../src/base/log.ts';
import { packagePath } from '../../src/base/package-path.ts';
import { runToEnd } from '../../src/runs/run-to-end.ts';
import { setStage } from '../../src/sandbox/demo/stage.ts';
import { type SeedReview, seedReviews } from '../../src/sandbox/reference-service/seed.ts';
import { generateSampleShop, type SampleShop } from '../../src/sandbox/sample-shop/generate.ts';
import { loadSampleShop } from '../../src/sandbox/sample-shop/load.ts';
import { putProductRatings } from '../../src/warehouse/changed-reviews.ts';

export type SampleWarehouse = { url: string; shop: SampleShop };

/** The same rows each time: a page made of them must not change by itself. */
const now = new Date('2026-06-30T15:00:00Z');
const sample = { seed: 11, orders: 150, reviews: 1200, now };

/**
 * A warehouse into which a sample shop was synced by the program itself, on an embedded Postgres that goes with `opened`.
 * The service's summaries of products are those of a week before.
 */
export async function openSampleWarehouse(opened: AsyncDisposableStack): Promise<SampleWarehouse> {
  const shop = generateSampleShop(sample);
  const stage = await setStage(opened, {
    sqlDir: packagePath('sql', 'shop'),
    timeZone: 'Asia/Seoul',
    async fill(shopUrl, serviceDatabaseUrl) {
      await loadSampleShop(shopUrl, shop);
      await seedReviews(serviceDatabaseUrl, shop.reviews.map(withReply));
    },
  });
  const app = opened.use(await openApp(stage.config, { log: openLog('error') }));
  for (const job of [syncReviews, syncOrders]) {
    const report = await runToEnd(app, { job }, { onProgress() {}, onRetry() {}, signal: app.abort.signal });
    if (report.outcome !== 'done') throw new Error(`${job.name} ended ${JSON.stringify(report)}`);
  }
  const { rows: learned } = await app.warehouse.pool.query<{ code: string; id: number }>(
    'select product_code as code, product_id as id from sync.product_links',
  );
  await putProductRatings(
    app.warehouse.db,
    learned.map((product) => summaryOf(shop, product)),
  );
  return { url: stage.urls.warehouse, shop };
}

/** The shop answers two thirds of the reviews below three stars, each within three days. */
function withReply(review: SeedReview): SeedReview {
  const { created_at, score = null } = review;
  const seconds = Math.floor(created_at.getTime() / 1000);
  if (score === null || score > 2 || seconds % 3 === 0) return review;
  const at = new Date(created_at.getTime() + (1 + (seconds % 72)) * 3_600_000);
  if (at > now) return review;
  return { ...review, comments: [{ id: seconds, message: 'We are sorry.', is_admin: true, created_at: at }] };
}

function summaryOf({ reviews }: SampleShop, product: { id: number; code: string }) {
  const receivedAt = new Date(now.getTime() - 7 * 86_400_000);
  const counted = reviews.filter(
    (review) => review.product_code === product.code && review.display && review.created_at < receivedAt,
  );
  const scores = counted.flatMap((review) => review.score ?? []);
  const average = scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length;
  return {
    ...product,
    reviewsCount: counted.length,
    score: average === null ? null : Number(average.toFixed(2)),
    metaReviewsCount: null,
    metaScore: null,
    receivedAt,
  };
}
