-- Learns which service product stands for which of the shop's codes.
-- $1 text: a JSON array of objects with product_id and product_code (reviews, or sub-orders of an order list).
insert into sync.product_links as known (product_code, product_id)
select distinct on (product_code) product_code, product_id
from jsonb_to_recordset($1::text::jsonb) as r (product_id bigint, product_code text)
where product_id is not null and product_code <> ''
order by product_code, product_id desc
on conflict (product_code) do update set product_id = excluded.product_id, linked_at = now()
where known.product_id <> excluded.product_id;
