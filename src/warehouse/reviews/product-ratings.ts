import { type Db, rowsOf } from '../index.ts';

export type ProductRating = {
  id: number;
  /** As text, even if the service sends a number. */
  code: string | null;
  reviewsCount: number;
  score: number | null;
  metaReviewsCount: number | null;
  metaScore: number | null;
  /** By the warehouse's clock; undefined: now. */
  receivedAt: Date | undefined;
};

/** Stores the newest summary of each product. Summaries have no date, so the last one received counts. */
export async function putProductRatings(db: Db, ratings: readonly ProductRating[]): Promise<void> {
  if (ratings.length === 0) return;
  await rowsOf(db, 'put_product_ratings', JSON.stringify(ratings));
}
