-- The lines of the orders: one row for each product bought. A line becomes a sub-order at the review service, and a
-- sub-order is what a customer can review.
--
-- This file belongs to you, see orders.sql. Columns marked * must be there and never null. Show cancelled and returned
-- lines too, with their status: a line that is no longer shown counts as taken out of its order.
select
  -- * The order, as orders.sql calls it.
  o.order_no::text as order_code,

  -- * Tells the lines of one order apart. It must stay with its line for ever.
  i.line_no::text as line_code,

  -- What was bought, by your own code. review-sync learns from the reviews which product of the service that is; a line
  -- whose product is not known yet waits. If you keep the service's product id, show that instead: product_id bigint.
  p.product_code::text as product_code,

  -- * What the line cost: all its pieces together.
  i.unit_price::numeric * i.quantity as price,

  -- Where the line stands, in the service's words; others are passed on as they are.
  case i.item_status
    when 'N10' then 'paid'
    when 'N20' then 'delivery_preparing'
    when 'N30' then 'delivery_started'
    when 'N40' then 'delivery_finished'
    when 'C40' then 'cancelled'
    when 'R10' then 'refund_requested'
    when 'R40' then 'returned'
    when 'E10' then 'exchange_requested'
    else i.item_status::text
  end as status,

  -- When the parcel left, and when it arrived. In a shop on the street the customer takes it along.
  coalesce(s.shipped_at, case when o.store_no is not null then o.ordered_at end) as delivery_started_at,
  coalesce(s.delivered_at, case when o.store_no is not null then o.ordered_at end) as delivered_at,

  -- The parcel's number and who carries it.
  s.tracking_no::text as invoice,
  s.carrier_name::text as delivery_service,

  -- What was chosen, for example {"색상": "아이보리", "사이즈": "M"}: an object whose values are all text, shown beside
  -- the review. Null: the product has no options.
  (
    select jsonb_object_agg(c.option_name, c.option_value)
    from shop.order_item_options c
    where c.order_item_no = i.order_item_no
  ) as product_options
from shop.order_items i
join shop.orders o on o.order_id = i.order_id
join shop.products p on p.product_no = i.product_no
left join shop.shipments s on s.shipment_no = i.shipment_no
