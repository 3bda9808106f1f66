-- Medusa 2: which orders changed. Edits, parcels and returns make a new version of the order; payments, refunds and
-- changes of a fulfilment by itself do not. None of these dates has an index: see README.md.
select o.display_id as code, o.updated_at as changed_at
from "order" o
where o.updated_at >= :since and not o.is_draft_order

union all
select o.display_id, t.updated_at
from order_transaction t
join "order" o on o.id = t.order_id
where t.updated_at >= :since and not o.is_draft_order

union all
select o.display_id, f.updated_at
from fulfillment f
join order_fulfillment l on l.fulfillment_id = f.id
join "order" o on o.id = l.order_id
where f.updated_at >= :since and not o.is_draft_order
