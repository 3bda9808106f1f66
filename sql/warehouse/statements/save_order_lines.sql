-- Writes line links just before requests are sent, and renews the lease, for the orders whose lease is still ours.
-- $1: [{orderCode, token, lines, lineCodes}]; $2: how long the lease lasts, in milliseconds.
-- @write_line_links: write_line_links.sql.
with leased as (
  update sync.order_links l
  set lease_expires_at = clock_timestamp() + $2 * interval '1 millisecond'
  from jsonb_to_recordset($1::jsonb) as g ("orderCode" text, token text, lines jsonb, "lineCodes" jsonb)
  where l.order_code = g."orderCode" and l.lease_owner = g.token
  returning l.order_code, g.lines, g."lineCodes"
),
@write_line_links
select order_code as "orderCode" from leased
