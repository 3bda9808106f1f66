-- Records that nothing is left to do for these orders. While a process pushes an order, its link stays as it is. A dead
-- letter with `kept` stays open.
-- $1 text[]: codes of orders.
with settled as (
  update sync.order_links set fingerprint = null, user_grade_code = null, user_grade_id = null, due_at = null,
    waiting_lines = null, waiting_since = null, lease_owner = null, lease_expires_at = null
  where order_code in (
    select order_code from sync.order_links
    where order_code = any($1) and (lease_owner is null or lease_expires_at < clock_timestamp())
    order by order_code for update
  )
)
update sync.dead_letters set resolved_at = now()
where resolved_at is null and order_code = any($1) and not coalesce(payload ? 'kept', false)
