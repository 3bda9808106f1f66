-- Lands one page of reviews, the response body as it came.
-- $1 text: a JSON array of reviews (spec, "Review").
-- An older version never overwrites a newer one, and an unchanged row is not rewritten.
-- Gives one row: inserted, updated, and unchanged (older versions among them).
with page as (
  select distinct on ((item.value ->> 'id')::bigint) item.value as body, r.*
  from jsonb_array_elements($1::text::jsonb) with ordinality as item (value, place)
  cross join lateral jsonb_to_record(item.value) as r (
    id bigint, code text, display boolean, user_id bigint, user_code text, user_name text, message text,
    score smallint, created_at timestamptz, updated_at timestamptz, product_id bigint, product_code text,
    review_type text, images_count integer, videos_count integer, likes_count integer, plus_likes_count integer,
    comments_count integer, source text, order_code text, sub_order_code text, store_order boolean,
    store_name text, third_party_name text, sub_brand_id bigint, tag_name text, product_options jsonb,
    images jsonb, videos jsonb, options jsonb
  )
  order by (item.value ->> 'id')::bigint, r.updated_at desc, item.place desc
),
written as (
  insert into warehouse.reviews as kept (
    id, code, display, user_id, user_code, user_name, message, score, created_at, updated_at, product_id,
    product_code, review_type, images_count, videos_count, likes_count, plus_likes_count, comments_count, source,
    order_code, sub_order_code, store_order, store_name, third_party_name, sub_brand_id, tag_name, product_options,
    images, videos, options, extra
  )
  select
    id, code, display, user_id, user_code, user_name, message, score, created_at, updated_at, product_id,
    product_code, review_type, images_count, videos_count, likes_count, plus_likes_count, comments_count, source,
    order_code, sub_order_code, store_order, store_name, third_party_name, sub_brand_id, tag_name, product_options,
    images, videos, options,
    body - '{id,code,display,user_id,user_code,user_name,message,score,created_at,updated_at,product_id,product_code,review_type,images_count,videos_count,likes_count,plus_likes_count,comments_count,source,order_code,sub_order_code,store_order,store_name,third_party_name,sub_brand_id,tag_name,product_options,images,videos,options}'::text[]
  from page
  order by id
  on conflict (id) do update set
    code = excluded.code, display = excluded.display, user_id = excluded.user_id, user_code = excluded.user_code,
    user_name = excluded.user_name, message = excluded.message, score = excluded.score,
    created_at = excluded.created_at, updated_at = excluded.updated_at, product_id = excluded.product_id,
    product_code = excluded.product_code, review_type = excluded.review_type,
    images_count = excluded.images_count, videos_count = excluded.videos_count,
    likes_count = excluded.likes_count, plus_likes_count = excluded.plus_likes_count,
    comments_count = excluded.comments_count, source = excluded.source, order_code = excluded.order_code,
    sub_order_code = excluded.sub_order_code, store_order = excluded.store_order, store_name = excluded.store_name,
    third_party_name = excluded.third_party_name, sub_brand_id = excluded.sub_brand_id,
    tag_name = excluded.tag_name, product_options = excluded.product_options, images = excluded.images,
    videos = excluded.videos, options = excluded.options, extra = excluded.extra,
    deleted_at = null, synced_at = now()
  where excluded.updated_at >= kept.updated_at
    and (
      kept.deleted_at is not null
      or (
        kept.updated_at, kept.created_at, kept.code, kept.display, kept.user_id, kept.user_code, kept.user_name,
        kept.message, kept.score, kept.product_id, kept.product_code, kept.review_type, kept.images_count,
        kept.videos_count, kept.likes_count, kept.plus_likes_count, kept.comments_count, kept.source,
        kept.order_code, kept.sub_order_code, kept.store_order, kept.store_name, kept.third_party_name,
        kept.sub_brand_id, kept.tag_name, kept.product_options, kept.images, kept.videos, kept.options, kept.extra
      ) is distinct from (
        excluded.updated_at, excluded.created_at, excluded.code, excluded.display, excluded.user_id,
        excluded.user_code, excluded.user_name, excluded.message, excluded.score, excluded.product_id,
        excluded.product_code, excluded.review_type, excluded.images_count, excluded.videos_count,
        excluded.likes_count, excluded.plus_likes_count, excluded.comments_count, excluded.source,
        excluded.order_code, excluded.sub_order_code, excluded.store_order, excluded.store_name,
        excluded.third_party_name, excluded.sub_brand_id, excluded.tag_name, excluded.product_options,
        excluded.images, excluded.videos, excluded.options, excluded.extra
      )
    )
  returning (xmax = 0) as inserted
)
select
  (select count(*) from written where inserted)::integer as inserted,
  (select count(*) from written where not inserted)::integer as updated,
  ((select count(*) from page) - (select count(*) from written))::integer as unchanged;
