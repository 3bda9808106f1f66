-- Renews the leases that are still ours.
-- $1: [{orderCode, token}]; $2: how long the lease lasts, in milliseconds.
with locked as materialized (
  select l.order_code
  from sync.order_links l join jsonb_to_recordset($1::jsonb) as g ("orderCode" text, token text)
    on l.order_code = g."orderCode" and l.lease_owner = g.token
  order by l.order_code
  for update of l
)
update sync.order_links l
set lease_expires_at = clock_timestamp() + $2 * interval '1 millisecond'
from jsonb_to_recordset($1::jsonb) as g ("orderCode" text, token text)
where l.order_code = g."orderCode" and l.lease_owner = g.token and l.order_code in (select order_code from locked)
returning l.order_code as "orderCode"
