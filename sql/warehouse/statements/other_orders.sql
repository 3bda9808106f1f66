-- The other orders of the shop that may be one of these at the service (OtherOrder): their codes are alike (sync.code_key),
-- or they are linked to the id. Left out are an order of which no push has begun, and one that has left the shop without
-- a sub-order at the service: the shop may have corrected its code.
-- $1: [{orderCode, orderId}], orderId null if it is not known. Indexes: order_links_by_key, order_links_by_id.
select g."orderCode", l.order_code as code, l.order_id as "orderId",
  sync.code_key(l.order_code) = sync.code_key(g."orderCode") as "isAlike",
  l.order_id is null or l.fingerprint is null or cardinality(l.sent_fields) > 0
    or exists (select from sync.sub_order_links s where s.order_code = l.order_code and s.sub_order_id is not null) as "isThere"
from jsonb_to_recordset($1::jsonb) as g ("orderCode" text, "orderId" bigint)
join sync.order_links l on l.order_id = g."orderId" or sync.code_key(l.order_code) = sync.code_key(g."orderCode")
where l.order_code <> g."orderCode" and (l.order_id is not null or l.contact is not null)
  and (l.fingerprint is not null or l.due_at is not null or l.lease_owner is not null or l.contact = 'forgotten'
    or exists (select from sync.sub_order_links s where s.order_code = l.order_code and s.sub_order_id is not null))
order by l.order_code
