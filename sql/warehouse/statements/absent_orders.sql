-- Orders that the shop does not show. hasWaited: the order has been absent for a day, and no other order may be this
-- one renamed: an order that fails, has no id yet, and has a code that the service may hold for this one's.
-- isNewest: the shop shows no pushed order that was created at the same time or later.
with failing as materialized (
  select o.order_code, sync.code_key(code) as key
  from sync.order_links o
  left join sync.dead_letters d on d.order_code = o.order_code and kind = 'order' and (resolved_at is null or is_discarded)
  cross join unnest(array[o.order_code, payload ->> 'other_code']) as code
  where order_id is null and due_at is not null
), shown as materialized (
  select ordered_at from sync.order_links
  where ordered_at is not null and absent_since is null and order_id is not null
  order by ordered_at desc, order_code desc limit 1
)
select order_code as code, absent_since <= clock_timestamp() - interval '24 hours' and not exists (
  select from failing f where f.key = sync.code_key(l.order_code) and f.order_code <> l.order_code) as "hasWaited",
  not exists (select from shown s where s.ordered_at >= l.ordered_at) as "isNewest"
from sync.order_links l where absent_since is not null order by order_code
