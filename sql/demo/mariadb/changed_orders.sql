-- What changed in the sample shop on MariaDB. sql/shop/changed_orders.sql says how such a query is read.
select o.order_no as code, o.modified_at as changed_at
from orders o
where o.modified_at >= :since

union all
select o.order_no, i.modified_at
from order_items i
join orders o on o.order_id = i.order_id
where i.modified_at >= :since

union all
select o.order_no, s.modified_at
from shipments s
join orders o on o.order_id = s.order_id
where s.modified_at >= :since
