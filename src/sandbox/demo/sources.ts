import pLimit from 'p-limit';
import { loadOlist } from '../../../examples/olist/load.ts';
import { olistReviews } from '../../../examples/olist/reviews.ts';
import { packagePath } from '../../base/package-path.ts';
import type { ReviewApi } from '../../review-api/index.ts';
import { seedReviews } from '../reference-service/seed.ts';
import { generateSampleShop } from '../sample-shop/generate.ts';
import { loadSampleShop } from '../sample-shop/load.ts';
import type { StageOptions } from './stage.ts';

/** Where the demo's orders and reviews come from. */
export type Source = StageOptions & {
  title: string;
  /** Brings reviews into the service through its interface, if they are not there from the start. */
  writeReviews?(api: ReviewApi, shopUrl: string, onProgress: (written: number, total: number) => void): Promise<void>;
};

const seed = 20_261_120;
const reviewsAtATime = 8;

/** A made-up shop, the same every time except for its dates, and a service that holds the reviews of its products. */
export function sampleShop(now: Date, orders: number): Source {
  const reviews = Math.round((orders * 20) / 3);
  const n = (count: number) => count.toLocaleString('en');
  return {
    title: `a sample shop: ${n(orders)} orders, and a review service that holds ${n(reviews)} reviews`,
    sqlDir: packagePath('sql', 'shop'),
    timeZone: 'Asia/Seoul',
    async fill(shopUrl, serviceDatabaseUrl) {
      const shop = generateSampleShop({ seed, now, orders, reviews });
      await loadSampleShop(shopUrl, shop);
      await seedReviews(serviceDatabaseUrl, shop.reviews);
    },
  };
}

/** The orders and reviews of a real marketplace; its reviews are written through the service's interface. */
export function olist(folder: string): Source {
  let total = 0;
  return {
    title: `the Olist orders and reviews of ${folder}`,
    sqlDir: packagePath('examples', 'olist'),
    timeZone: 'America/Sao_Paulo',
    async fill(shopUrl) {
      total = (await loadOlist(shopUrl, folder)).reviews;
    },
    async writeReviews(api, shopUrl, onProgress) {
      const limit = pLimit(reviewsAtATime);
      const pending: Promise<void>[] = [];
      let written = 0;
      for await (const review of olistReviews(shopUrl)) {
        pending.push(
          limit(async () => {
            await api.reviews.upsert(review);
            written += 1;
            onProgress(written, total);
          }),
        );
      }
      await Promise.all(pending);
    },
  };
}
