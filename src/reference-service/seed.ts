import { openStore } from './store.ts';

/** A review as it may stand in the service from the start. */
export type SeedReview = {
  code?: string;
  product_code: string;
  user_code?: string;
  user_name?: string;
  message: string;
  score?: number | null;
  created_at: Date;
  updated_at: Date;
  product_options?: Record<string, string>;
  images_count?: number;
  source?: string;
  order_code?: string | null;
  display?: boolean;
};

const rowsAtOnce = 5000;

/** Puts reviews straight into the service's tables: for demos and tests that need many with dates of their own. */
export async function seedReviews(databaseUrl: string, reviews: readonly SeedReview[]): Promise<void> {
  const store = await openStore({ databaseUrl, timeZone: 'UTC', moneyUnit: 'hundredths' });
  try {
    for (let at = 0; at < reviews.length; at += rowsAtOnce) {
      const rows = JSON.stringify(reviews.slice(at, at + rowsAtOnce));
      await store.rows(
        `insert into reference_service.products (code)
         select distinct product_code from jsonb_to_recordset($1::jsonb) as r (product_code text)
         on conflict (code) do nothing`,
        [rows],
      );
      await store.rows(
        `insert into reference_service.reviews (
           code, display, user_id, user_code, user_name, message, score, created_at, updated_at, product_id,
           product_options, images, source, order_code
         )
         select r.code, coalesce(r.display, true), abs(hashtext(coalesce(r.user_code, r.user_name, ''))), r.user_code,
           r.user_name, r.message, r.score, r.created_at, r.updated_at, p.id, coalesce(r.product_options, '{}'),
           (
             select coalesce(jsonb_agg(jsonb_build_object(
               'url', format('https://images.example.com/%s/%s.jpg', p.id, n),
               'thumbnail_url', format('https://images.example.com/%s/%s-thumbnail.jpg', p.id, n),
               'width', 1080, 'height', 1080, 'thumbnail_width', 160, 'thumbnail_height', 160
             )), '[]')
             from generate_series(1, coalesce(r.images_count, 0)) n
           ),
           coalesce(r.source, 'brand_pc'), r.order_code
         from jsonb_to_recordset($1::jsonb) as r (
           code text, display boolean, user_code text, user_name text, message text, score smallint,
           created_at timestamptz, updated_at timestamptz, product_code text, product_options jsonb,
           images_count integer, source text, order_code text
         )
         join reference_service.products p on p.code = r.product_code
         order by r.created_at`,
        [rows],
      );
    }
    await store.rows('analyze reference_service.reviews, reference_service.products');
  } finally {
    await store.close();
  }
}
