-- Notes reviews to read again. For a changed product, it notes the product's newest review.
-- $1 bigint[]: reviews that changed. $2 bigint[]: products that changed. Index: reviews_by_product.
insert into sync.changed_reviews as kept (review_id)
select id from unnest($1::bigint[]) as id
union
select newest.id
from unnest($2::bigint[]) as changed (product_id)
cross join lateral (
  select id from warehouse.reviews r
  where coalesce(r.product_id, -1) = changed.product_id and r.deleted_at is null
  order by created_at desc limit 1
) newest
order by 1
on conflict (review_id) do update set events = kept.events + 1
