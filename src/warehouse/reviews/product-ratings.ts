import { sql } from 'kysely';
import type { Db } from '../index.ts';

export type ProductRating = {
  id: number;
  code: string | null;
  reviewsCount: number;
  score: number | null;
  metaReviewsCount: number | null;
  metaScore: number | null;
  /** By the warehouse's clock; undefined: now. */
  receivedAt: Date | undefined;
};

/** Products with a rating: webhooks must not fill the disk. */
const mostRatings = 1_000_000;

/**
 * Stores the newest summary of each product, of a new product only while there are fewer than `mostRatings`. Summaries
 * have no date, so the last one received counts.
 */
export async function putProductRatings(db: Db, ratings: readonly ProductRating[]): Promise<void> {
  if (ratings.length === 0) return;
  await sql`
    insert into warehouse.product_ratings as kept
      (product_id, product_code, reviews_count, score, meta_reviews_count, meta_score, received_at)
    select id, code, "reviewsCount", score, "metaReviewsCount", "metaScore",
      coalesce("receivedAt", now())
    from jsonb_to_recordset(${JSON.stringify(ratings)}::jsonb) as r (
      id bigint, code text, "reviewsCount" integer, score numeric, "metaReviewsCount" integer, "metaScore" numeric,
      "receivedAt" timestamptz
    )
    where id in (select product_id from warehouse.product_ratings)
      or (select count(*) from (select from warehouse.product_ratings limit ${mostRatings}) kept) < ${mostRatings}
    order by id
    on conflict (product_id) do update set
      product_code = coalesce(excluded.product_code, kept.product_code), reviews_count = excluded.reviews_count,
      score = excluded.score, meta_reviews_count = excluded.meta_reviews_count, meta_score = excluded.meta_score,
      received_at = excluded.received_at
    where excluded.received_at >= kept.received_at
  `.execute(db);
}
