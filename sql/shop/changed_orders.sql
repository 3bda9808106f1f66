-- Which orders changed since a moment. An order may have any number of rows, from as many tables as needed.
--
-- This file belongs to you, see orders.sql. It is optional, and it is what makes a run cheap: the cost of a run then
-- follows what changed, not the size of the shop. Delete it if no table of yours has a date of change with an index:
-- then orders.sql needs updated_at.
--
-- :since is the moment from which changes are wanted, a date of the same kind as changed_at (with or without zone; all
-- branches must have the same kind). Each branch compares its own column with it, without a function around the column,
-- so that an index on that column serves:
--
--     create index on shop.orders (modified_at);
--     create index on shop.order_items (modified_at);
--     create index on shop.shipments (modified_at);
--
-- Add a branch for each table whose rows change what orders.sql or order_lines.sql show: refunds, cancellations, status
-- history. If no branch shows a change, `sync reconcile` finds it within a day, as long as the order is younger than
-- ORDER_RESCAN_DAYS. Write codes as orders.sql does: a new order whose code is in another case waits for `sync
-- reconcile` too. Rows with a null code or date are left out.
select
  -- * The order, as orders.sql calls it.
  o.order_no::text as code,

  -- * When the change was made. It must not lie before the transaction began: ORDER_OVERLAP_MINUTES (10) is how late a
  --   transaction may commit.
  o.modified_at as changed_at
from shop.orders o
where o.modified_at >= :since

union all
select o.order_no::text, i.modified_at
from shop.order_items i
join shop.orders o on o.order_id = i.order_id
where i.modified_at >= :since

union all
select o.order_no::text, s.modified_at
from shop.shipments s
join shop.orders o on o.order_id = s.order_id
where s.modified_at >= :since
