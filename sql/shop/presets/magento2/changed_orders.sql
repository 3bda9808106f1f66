-- Magento 2. Each branch uses an index that Magento creates, except that of the parcel numbers: README.md.
select o.increment_id as code, o.updated_at as changed_at
from sales_order o
where o.updated_at >= :since

union all
select o.increment_id, s.updated_at
from sales_shipment s
join sales_order o on o.entity_id = s.order_id
where s.updated_at >= :since

union all
-- Parcel numbers are often added later. created_at has an index, updated_at has none: a corrected number is found by
-- the rescan.
select o.increment_id, t.created_at
from sales_shipment_track t
join sales_order o on o.entity_id = t.order_id
where t.created_at >= :since

union all
select o.increment_id, c.updated_at
from sales_creditmemo c
join sales_order o on o.entity_id = c.order_id
where c.updated_at >= :since

union all
select o.increment_id, h.created_at
from sales_order_status_history h
join sales_order o on o.entity_id = h.parent_id
where h.created_at >= :since
