-- Learns which service product stands for which of the shop's codes.
-- $1 text: a JSON array of objects with product_id and product_code, each code once.
-- Pairs that are known are not touched, so that learners do not wait for each other; the order keeps two from locking
-- each other out.
insert into sync.product_links as known (product_code, product_id)
select r.product_code, r.product_id
from jsonb_to_recordset($1::text::jsonb) as r (product_id bigint, product_code text)
where not exists (
  select from sync.product_links k where k.product_code = r.product_code and k.product_id = r.product_id
)
order by r.product_code
on conflict (product_code) do update set product_id = excluded.product_id, linked_at = now()
