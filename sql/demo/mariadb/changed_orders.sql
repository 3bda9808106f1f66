-- Which orders changed since a moment, in the sample shop on MariaDB.
--
-- This file belongs to you: put your own tables in and keep the names of the columns. The same query for Postgres, with
-- a comment on each column, is sql/shop/changed_orders.sql of review-sync; docs/connecting.md leads you through it.
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
