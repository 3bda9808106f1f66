-- The other orders of the shop that may be one of these at the service (OtherOrder): their codes are alike (sync.code_key),
-- or they are linked to the id. `isUnknown`: a push has begun, and no response has shown an id yet.
-- $1: [{orderCode, orderId}], orderId null if it is not known. Indexes: order_links_by_key, order_links_by_id.
select g."orderCode", l.order_code as code, l.order_id as "orderId",
  sync.code_key(l.order_code) = sync.code_key(g."orderCode") as "isAlike",
  l.order_id is null and l.contact is not null and (l.pushed_at is null or l.lease_owner is not null) as "isUnknown"
from jsonb_to_recordset($1::jsonb) as g ("orderCode" text, "orderId" bigint)
join sync.order_links l on l.order_id = g."orderId" or sync.code_key(l.order_code) = sync.code_key(g."orderCode")
where l.order_code <> g."orderCode"
order by l.order_code
