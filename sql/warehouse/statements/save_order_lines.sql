-- Writes line links just before requests are sent, and renews the lease, for the orders whose lease is still ours.
-- $1: [{orderCode, token, lines, lineCodes}]; $2: how long the lease lasts, in milliseconds.
-- The comment before the end stands for write_line_links.sql.
with locked as materialized (
  select l.order_code
  from sync.order_links l join jsonb_to_recordset($1::jsonb) as g ("orderCode" text, token text)
    on l.order_code = g."orderCode" and l.lease_owner = g.token
  order by l.order_code
  for update of l
),
leased as (
  update sync.order_links l
  set lease_expires_at = clock_timestamp() + $2 * interval '1 millisecond'
  from jsonb_to_recordset($1::jsonb) as g ("orderCode" text, token text, lines jsonb, "lineCodes" jsonb)
  where l.order_code = g."orderCode" and l.lease_owner = g.token and l.order_code in (select order_code from locked)
  returning l.order_code, g.lines, g."lineCodes"
)
/*@write_line_links*/
select order_code as "orderCode" from leased
