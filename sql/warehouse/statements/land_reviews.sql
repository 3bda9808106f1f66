-- Lands one page of reviews, the response body as it came, and enters what it completes into the coverage ledger: one
-- statement, so that neither is ever there without the other.
-- $1 text: a JSON array of reviews (spec, "Review"); may be empty.
-- $2 bigint: the ledger's row to extend, or null to begin one. $3 text: the run. $4 text: the axis.
-- $5, $6 timestamptz: what is now complete; null where nothing is. $7, $8 integer: its reviews, and requests.
-- $9 timestamptz: when its reading began. $10 integer: its pages.
-- $11 timestamptz: what is dated before this and was not here yet came late; null where that is not known.
-- $12 boolean: whether all records are plain (src/warehouse/plain-reviews.ts), so that json, which is faster, brings the same.
-- An older version never overwrites a newer one, and an unchanged row is not rewritten.
-- Two versions of one review on a page are an error, as bad data are: the page is then landed row by row.
-- Gives one row: inserted, updated, late, and window_id.
with written as (
  insert into warehouse.reviews as kept (
    id, code, display, user_id, user_code, user_name, message, score, created_at, updated_at, product_id,
    product_code, review_type, images_count, videos_count, likes_count, plus_likes_count, comments_count, source,
    order_code, sub_order_code, store_order, store_name, third_party_name, sub_brand_id, tag_name, product_options,
    images, videos, options, extra
  )
  select * from (
    select
      r.*,
      item.value - '{id,code,display,user_id,user_code,user_name,message,score,created_at,updated_at,product_id,product_code,review_type,images_count,videos_count,likes_count,plus_likes_count,comments_count,source,order_code,sub_order_code,store_order,store_name,third_party_name,sub_brand_id,tag_name,product_options,images,videos,options}'::text[]
    from jsonb_array_elements($1::text::jsonb) as item
    cross join lateral jsonb_to_record(item.value) as r (
      id bigint, code text, display boolean, user_id bigint, user_code text, user_name text, message text,
      score smallint, created_at timestamptz, updated_at timestamptz, product_id bigint, product_code text,
      review_type text, images_count integer, videos_count integer, likes_count integer, plus_likes_count integer,
      comments_count integer, source text, order_code text, sub_order_code text, store_order boolean,
      store_name text, third_party_name text, sub_brand_id bigint, tag_name text, product_options jsonb,
      images jsonb, videos jsonb, options jsonb
    )
    where not $12
    union all
    select
      id, code, display, user_id, user_code, user_name, message, score, created_at, updated_at, product_id,
      product_code, review_type, images_count, videos_count, likes_count, plus_likes_count, comments_count, source,
      order_code, sub_order_code, store_order, store_name, third_party_name, sub_brand_id, tag_name, product_options,
      images, videos, options,
      case when video_urls is null then '{}' else jsonb_build_object('video_urls', video_urls) end
    from json_to_recordset($1::text::json) as r (
      id bigint, code text, display boolean, user_id bigint, user_code text, user_name text, message text,
      score smallint, created_at timestamptz, updated_at timestamptz, product_id bigint, product_code text,
      review_type text, images_count integer, videos_count integer, likes_count integer, plus_likes_count integer,
      comments_count integer, source text, order_code text, sub_order_code text, store_order boolean,
      store_name text, third_party_name text, sub_brand_id bigint, tag_name text, product_options jsonb,
      images jsonb, videos jsonb, options jsonb, video_urls jsonb
    )
    where $12
  ) as shown
  -- So that two pages with the same reviews do not lock each other out.
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
  returning id, kept.updated_at, (xmax = 0) as inserted
),
late as (
  insert into sync.late_reviews as known (review_id, dated_at, run_id)
  select id, updated_at, $3::text from written where updated_at < $11::timestamptz
  on conflict do nothing
  returning 1
),
-- What lands is neither a dead letter nor suspected gone any more. There are hardly ever any; the arrays are only made
-- when there is a row to compare with, which is why no index may be used.
healed as (
  update sync.dead_letters set resolved_at = now()
  where kind = 'review' and resolved_at is null
    and key || '' = any (array(select value ->> 'id' from jsonb_array_elements($1::text::jsonb)))
),
found as (
  delete from sync.absent_reviews
  where review_id + 0 = any (array(select (value ->> 'id')::bigint from jsonb_array_elements($1::text::jsonb)))
),
extended as (
  update sync.export_windows
  set end_at = $6::timestamptz, pages = pages + $10::integer, reviews = reviews + $7::integer,
    requests = requests + $8::integer, finished_at = clock_timestamp()
  where id = $2::bigint
  returning id
),
begun as (
  insert into sync.export_windows
    (run_id, axis, start_at, end_at, pages, reviews, requests, started_at, finished_at)
  select $3::text, $4::text, $5::timestamptz, $6::timestamptz, $10::integer, $7::integer, $8::integer,
    $9::timestamptz, clock_timestamp()
  where $2::bigint is null and $5::timestamptz is not null
  returning id
)
select
  (select count(*) from written where inserted)::integer as inserted,
  (select count(*) from written where not inserted)::integer as updated,
  (select count(*) from late)::integer as late,
  (select id from extended union all select id from begun) as window_id
