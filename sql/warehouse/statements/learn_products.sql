-- Learns which service product stands for which of the shop's codes.
-- $1 text: a JSON array of objects with product_id and product_code, each code once.
-- A product that was registered again has two ids under one code. The higher id is the newer one, and counts: reviews
-- are not read in the order of the registrations.
-- The lines of each product are looked up by themselves (`offset`, `limit`): without statistics, Postgres expects
-- thousands of lines of a product, and would read all orders.
-- Known pairs are not touched, so that learners do not wait for each other. The order keeps two learners from locking
-- each other out.
with given as (
  select r.product_code, r.product_id, k.product_id as id_before
  from jsonb_to_recordset($1::text::jsonb) as r (product_id bigint, product_code text)
  left join sync.product_links k on k.product_code = r.product_code
  where k.product_id is null or k.product_id < r.product_id
),
learned as (
  insert into sync.product_links as known (product_code, product_id)
  select product_code, product_id from given order by product_code
  on conflict (product_code) do update set product_id = excluded.product_id, linked_at = now()
  where known.product_id < excluded.product_id
)
-- bi.sub_orders shows the code of each product, so the months of its sub-orders changed. Index:
-- sub_order_links_by_product.
insert into sync.touches (record, dated_at)
select 'order', min(o.ordered_at)
from (select product_id from given union select id_before from given) as moved
cross join lateral (
  select order_code from sync.sub_order_links s where s.product_id = moved.product_id and sub_order_id is not null offset 0
) as line
left join lateral (select ordered_at from sync.order_links l where l.order_code = line.order_code limit 1) as o on true
group by date_trunc('month', o.ordered_at at time zone (select time_zone from sync.settings))
