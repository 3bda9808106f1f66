-- Orders that the service accepted and that are not known to be gone: the three oldest, the three newest, and six
-- evenly spaced in time between them. Index: order_links_by_creation.
with pushed as not materialized (
  select order_code as code, ordered_at as "orderedAt" from sync.order_links
  where order_id is not null and absent_since is null and ordered_at is not null
    and pushed_at > coalesce((select same_shop_since from sync.settings), '-infinity')
),
oldest as (select * from pushed order by "orderedAt", code limit 3),
newest as (select * from pushed order by "orderedAt" desc, code desc limit 3),
between_them as (
  select one.* from generate_series(1, 6) as place
  cross join lateral (
    select * from pushed
    where "orderedAt" >= (select min("orderedAt") from oldest)
      + ((select max("orderedAt") from newest) - (select min("orderedAt") from oldest)) * place / 7
    order by "orderedAt", code limit 1
  ) as one
)
table oldest union table newest union table between_them
