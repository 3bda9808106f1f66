-- @reviews reviews of four years, @products products, and as many delivered sub-orders of three fifths as many orders:
-- three of five reviews are about one of them. Nothing is counted for bi yet: the part `migrate` does that, and is
-- measured.
insert into sync.order_links (order_code, order_id, ordered_at, pushed_at)
select 'order-' || n, n, '@first'::timestamptz + n * interval '1 minute' * (2100000.0 / (@reviews * 0.6)), now()
from generate_series(1, (@reviews * 0.6)::integer) as n;

insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, status, delivered_at)
select 'order-' || o, '1-' || n, n, content, true, (content ->> 'product_id')::bigint, content ->> 'status',
  (content ->> 'delivered_at')::timestamptz
from generate_series(1, @reviews) as n
cross join lateral (select 1 + (n * 3::bigint - 1) / 5 as o) as of_order
cross join lateral (
  select jsonb_build_object('product_id', 1 + (n * 7919::bigint) % @products, 'price', '19900', 'status', 'delivery_finished',
    'delivered_at', '@first'::timestamptz + interval '2 days' + o * interval '1 minute' * (2100000.0 / (@reviews * 0.6)),
    'invoice', 'invoice-' || n, 'product_options', jsonb_build_object('color', 'ivory', 'size', 'M')) as content
) as made;

insert into sync.product_links (product_code, product_id) select 'product-' || n, n from generate_series(1, @products) as n;
insert into warehouse.product_ratings (product_id, product_code, reviews_count, score, received_at)
select n, 'product-' || n, 200, 4.3, now() from generate_series(1, @products) as n;

insert into warehouse.reviews (
  id, code, display, user_id, user_code, user_name, message, score, created_at, updated_at, product_id, product_code,
  review_type, images_count, videos_count, likes_count, plus_likes_count, comments_count, source, order_code,
  store_order, product_options, images, videos, options
)
select 1000000000 + n, 'review-' || n, n % 70 <> 0, n % 90000, 'member-' || n % 90000, 'Name ' || n % 90000,
  repeat('The colour is as in the picture. ', (1 + n % 5)::integer), case when n % 40 > 0 then 5 - (n % 17) / 7 * (n % 3) end,
  at, at, product, 'product-' || product, case when n % 4 = 0 then 'photo' else 'text' end,
  case when n % 4 = 0 then 1 + n % 3 else 0 end, 0, n % 5, n % 4, n % 2,
  (array['brand_mobile', 'brand_pc', 'sms', 'email'])[1 + n % 4],
  case when n % 5 < 3 then l.order_code end, false, '{"color": "ivory", "size": "M"}',
  case when n % 4 = 0 then jsonb_build_array(jsonb_build_object(
    'url', 'https://images.example.com/' || n || '.jpg', 'thumbnail_url', 'https://images.example.com/t' || n || '.jpg'
  )) else '[]' end, '[]', '[]'
from sync.sub_order_links l
cross join lateral (select l.sub_order_id as n, l.product_id as product,
  l.delivered_at + l.sub_order_id % 30 * interval '17 hours 7 minutes' as at) as made;

insert into warehouse.review_overview (captured_at, first_review_created_at, last_review_created_at)
select now(), min(created_at), max(created_at) from warehouse.reviews;
insert into sync.export_windows (run_id, axis, start_at, end_at, pages, reviews, requests, started_at, finished_at)
select 'run-1', 'created', day, day + interval '1 day', 7, 700, 7, now(), now()
from warehouse.review_overview
cross join generate_series(first_review_created_at, last_review_created_at, interval '1 day') as day;
