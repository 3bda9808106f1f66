-- Forgets orders that were deleted at the service: their links and open dead letters. A closed dead letter records the
-- deletion for `explain`, for as long as closed ones are kept. Only for orders whose lease is still ours.
-- $1: [{orderCode, token}]. Indexes: the primary keys, dead_letters_of_open_orders.
with leased as (
  delete from sync.order_links
  where order_code in (
    select l.order_code
    from sync.order_links l join jsonb_to_recordset($1::jsonb) as g ("orderCode" text, token text)
      on l.order_code = g."orderCode" and l.lease_owner = g.token
    -- Makes Postgres use the index, as in write_orders.sql.
    where l.order_code = any (array(select value ->> 'orderCode' from jsonb_array_elements($1::jsonb)))
    order by l.order_code
    for update of l
  )
  returning order_code
),
lines as (
  delete from sync.sub_order_links s using leased o where s.order_code = o.order_code
),
-- The order as it was, for the counts behind bi (0005_counts.sql).
touched as (
  insert into sync.touches (record, order_code, dated_at, product_id, delivered_at)
  select 'order', l.order_code, l.ordered_at, s.product_id, s.delivered_at
  from sync.order_links l
  left join sync.sub_order_links s on s.order_code = l.order_code and s.sub_order_id is not null
  where l.order_code in (select order_code from leased)
),
closed as (
  update sync.dead_letters d set resolved_at = now() from leased o where d.order_code = o.order_code and d.resolved_at is null
),
deletion as (
  insert into sync.dead_letters (kind, key, order_code, reason, payload, resolved_at)
  select 'order', order_code, order_code, 'no failure: the shop does not have the order any more, nor has the service', 'null', now()
  from leased
)
select order_code as "orderCode" from leased
