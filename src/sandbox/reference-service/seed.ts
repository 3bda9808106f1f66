import { openStore, type Store } from './store.ts';

/** A review as it may be in the service from the start. */
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
  videos_count?: number;
  comments_count?: number;
  /** The comments. Default: `comments_count` made-up ones. */
  comments?: Record<string, unknown>[];
  likes_count?: number;
  plus_likes_count?: number;
  source?: string;
  order_code?: string | null;
  sub_order_id?: number;
  store_name?: string;
  display?: boolean;
  third_party_name?: string;
  sub_brand_id?: number;
  sub_brand_code?: string;
  tag_name?: string;
  options?: { review_option_type_id: number; value: string }[];
};

const rowsAtOnce = 5000;

/** Puts reviews straight into the service's tables: for demos and tests that need many with dates of their own. */
export async function seedReviews(databaseUrl: string, reviews: readonly SeedReview[]): Promise<void> {
  await withStore(databaseUrl, (store) => insertReviews(store, reviews));
}

async function insertReviews(store: Store, reviews: readonly SeedReview[]): Promise<void> {
  for (let at = 0; at < reviews.length; at += rowsAtOnce) {
    const rows = JSON.stringify(reviews.slice(at, at + rowsAtOnce));
    await store.rows(newProductsSql, [rows]);
    await store.rows(reviewsSql, [rows]);
  }
  await store.rows('analyze reference_service.reviews, reference_service.products');
}

/**
 * Makes a review of each of these products that has none, a minute apart: a reader learns the service's ids of products
 * from reviews.
 */
export async function seedReviewOfEach(databaseUrl: string, productCodes: readonly string[], now: Date): Promise<void> {
  if (productCodes.length === 0) return;
  await withStore(databaseUrl, async (store) => {
    const unreviewed = await store.rows<{ code: string }>(unreviewedSql, [productCodes]);
    const reviews = unreviewed.map(({ code }, index): SeedReview => {
      const at = new Date(now.getTime() - (index + 1) * 60_000);
      return { product_code: code, message: `A made-up review of ${code}.`, score: 5, created_at: at, updated_at: at };
    });
    await insertReviews(store, reviews);
  });
}

const unreviewedSql = `
  select given.code from unnest($1::text[]) as given (code)
  where not exists (
    select from reference_service.reviews r
    join reference_service.products p on p.id = r.product_id where p.code = given.code
  )`;

async function withStore(databaseUrl: string, use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore({
    databaseUrl,
    timeZone: 'UTC',
    moneyUnit: 'hundredths',
    currency: 'KRW',
    reviewOptionsForm: 'default',
  });
  try {
    await use(store);
  } finally {
    await store.close();
  }
}

const newProductsSql = `
  insert into reference_service.products (code)
  select distinct g.product_code from jsonb_to_recordset($1::jsonb) as g (product_code text)
  where not exists (select from reference_service.products p where p.code = g.product_code)
  on conflict (code) do nothing`;

// Ids are taken first, so that the additional information of a review can name it in the same statement.
const reviewsSql = `
  with given as materialized (
    select nextval('reference_service.reviews_id_seq') as id, g.*
    from (
      select *
      from jsonb_to_recordset($1::jsonb) as r (
        code text, display boolean, user_code text, user_name text, message text, score smallint,
        created_at timestamptz, updated_at timestamptz, product_code text, product_options jsonb,
        images_count integer, videos_count integer, comments_count integer, comments jsonb, likes_count integer,
        plus_likes_count integer, source text, order_code text, sub_order_id bigint, store_name text,
        third_party_name text, sub_brand_id bigint, sub_brand_code text, tag_name text, options jsonb
      )
      order by created_at
    ) g
  ), written as (
    insert into reference_service.reviews (
      id, code, display, user_code, user_name, message, score, created_at, updated_at, product_id, product_options,
      images, videos, comments, likes_count, plus_likes_count, source, order_code, sub_order_id, store_order,
      store_name, third_party_name, sub_brand_id, sub_brand_code, tag_name
    )
    overriding system value
    select g.id, g.code, coalesce(g.display, true), g.user_code, g.user_name, g.message, g.score, g.created_at,
      g.updated_at, p.id, coalesce(g.product_options, '{}'),
      (
        select coalesce(jsonb_agg(reference_service.image_json(
          format('https://images.example.com/%s/%s.jpg', g.id, n)
        ) order by n), '[]')
        from generate_series(1, g.images_count) n
      ),
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'sd_url', format('https://videos.example.com/%s/%s.mp4', g.id, n)
        ) order by n), '[]')
        from generate_series(1, g.videos_count) n
      ),
      coalesce(g.comments, (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', n, 'message', 'Thank you.', 'is_admin', true, 'created_at', reference_service.iso(g.updated_at)
        ) order by n), '[]')
        from generate_series(1, g.comments_count) n
      )),
      coalesce(g.likes_count, 0), coalesce(g.plus_likes_count, 0), coalesce(g.source, 'brand_pc'), g.order_code,
      g.sub_order_id, g.store_name is not null, g.store_name, g.third_party_name, g.sub_brand_id, g.sub_brand_code,
      g.tag_name
    from given g
    join reference_service.products p on p.code = g.product_code
    order by g.id
  )
  insert into reference_service.review_options (review_id, review_option_type_id, value, created_at, updated_at)
  select g.id, o.review_option_type_id, o.value, g.created_at, g.updated_at
  from given g
  cross join jsonb_to_recordset(coalesce(g.options, '[]')) as o (review_option_type_id bigint, value text)`;
