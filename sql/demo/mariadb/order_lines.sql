-- The lines of the orders, as the sample shop has them on MariaDB.
--
-- This file belongs to you: put your own tables in and keep the names of the columns. The same query for Postgres, with
-- a comment on each column, is sql/shop/order_lines.sql of review-sync; docs/connecting.md leads you through it.
select
  o.order_no as order_code,
  i.line_no as line_code,
  p.product_code as product_code,
  i.unit_price * i.quantity as price,
  case i.item_status
    when 'N10' then 'paid'
    when 'N20' then 'delivery_preparing'
    when 'N30' then 'delivery_started'
    when 'N40' then 'delivery_finished'
    when 'C40' then 'cancelled'
    when 'R10' then 'refund_requested'
    when 'R40' then 'returned'
    when 'E10' then 'exchange_requested'
    else i.item_status
  end as status,
  coalesce(s.shipped_at, case when o.store_no is not null then o.ordered_at end) as delivery_started_at,
  coalesce(s.delivered_at, case when o.store_no is not null then o.ordered_at end) as delivered_at,
  s.tracking_no as invoice,
  s.carrier_name as delivery_service,
  (
    select json_objectagg(c.option_name, c.option_value)
    from order_item_options c
    where c.order_item_no = i.order_item_no
  ) as product_options
from order_items i
join orders o on o.order_id = i.order_id
join products p on p.product_no = i.product_no
left join shipments s on s.shipment_no = i.shipment_no
