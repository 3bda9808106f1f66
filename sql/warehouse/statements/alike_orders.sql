-- For each of these orders, the other orders that go before it, because a service may hold their codes for one
-- (sync.code_key). An order goes before another if its push has begun. If no push of either has begun, the first by its
-- code goes before. An order with an id gives way only to an order with the same id. If an order has left the shop
-- without a sub-order at the service, it goes before none: the shop may have corrected its code.
-- $1 text[]: codes. Indexes: order_links_pkey, order_links_by_key, dead_letters_of_open_orders. Each code is looked up by
-- itself (`limit`, `offset`): while a first push fills the table, Postgres expects few rows, and would read all of them.
with asked as (
  select a.code collate "C" as code, sync.code_key(a.code) as key, own.order_id, own.contact is not null as is_begun, d.other_code
  from unnest($1::text[]) as a (code)
  left join lateral (select order_id, contact from sync.order_links where order_code = a.code limit 1) as own on true
  -- The code of another order that the service has shown for this one. A person may have discarded that dead letter.
  left join lateral (
    select payload ->> 'other_code' as other_code from sync.dead_letters
    where order_code = a.code and kind = 'order' and (resolved_at is null or is_discarded) and payload ? 'other_code' limit 1
  ) as d on own.order_id is null
)
select a.code as "orderCode", l.order_code as code, l.order_id as "orderId", a.other_code as "shownCode"
from asked a
cross join lateral (select * from sync.order_links where sync.code_key(order_code) = a.key offset 0) as l
where l.order_code <> a.code and (l.order_id is not null or l.contact is not null)
  and (a.order_id is null or a.order_id = l.order_id)
  and (l.fingerprint is not null or l.due_at is not null or l.lease_owner is not null or l.contact = 'forgotten'
    or exists (select from sync.sub_order_links s where s.order_code = l.order_code and s.sub_order_id is not null))
union all
select a.code, b.code, null, null from asked a join asked b on b.key = a.key where b.code < a.code and not (a.is_begun or b.is_begun)
union all
-- The shop may have no order with the code that the service has shown.
select a.code, coalesce(l.order_code, a.other_code), l.order_id, a.other_code
from asked a left join sync.order_links l on sync.code_key(l.order_code) = sync.code_key(a.other_code)
where sync.code_key(a.other_code) <> a.key
