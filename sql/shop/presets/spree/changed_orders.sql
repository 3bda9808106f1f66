-- Spree 4.3 to 5.x on Postgres: which orders changed. Lines, shipments and payments touch their order, units touch
-- their shipment, and a refund recalculates the order. Add the index that README.md names.
select o.number as code, o.updated_at as changed_at
from spree_orders o
where o.updated_at >= :since and o.completed_at is not null

union all
select o.number, s.updated_at
from spree_shipments s
join spree_orders o on o.id = s.order_id
where s.updated_at >= :since and o.completed_at is not null
