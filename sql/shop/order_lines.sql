-- The lines of the orders: one row for each product bought. A line becomes a sub-order at the review service, and a
-- sub-order is what a customer can review.
--
-- This file belongs to you, see orders.sql. Columns marked * are required and must never be null. Show cancelled and
-- returned lines too, with their status: a line that is no longer shown counts as taken out of its order. Lines are
-- read by order_code, for 500 orders at a time: the database needs an index from the order to its lines.
--
-- One line over two parcels: show one row, with the first parcel's invoice and the date on which the last parcel
-- arrived. If a join multiplies lines, the order's lines become dead letters. Several pieces of one product are one
-- line with one price.
select
  -- * The order, exactly as orders.sql calls it.
  o.order_no::text as order_code,

  -- * Tells the lines of one order apart, and stays with its line. If it changes although the product, the options and
  --   the price are the same, the new line takes over the sub-order and its reviews.
  i.line_no::text as line_code,

  -- What was bought, by the shop's own code. review-sync learns from the reviews which product of the service that is.
  -- A line whose product is not known yet waits, and is sent by itself later. If the shop keeps the service's product
  -- id, select that instead: product_id bigint. A line without either is a dead letter.
  p.product_code::text as product_code,

  -- * What the line cost, all its pieces together, with tax, in the same unit and currency as total_price of
  --   orders.sql: in the major unit (12.50 euros, 13900 won), never in cents.
  i.unit_price::numeric * i.quantity as price,

  -- The state of the line, by the service's names. Other values are passed on unchanged; `doctor` counts them. Null:
  -- unknown.
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

  -- When the parcel left, and when it arrived. Null: not yet. The service asks for a review some days after
  -- delivered_at. Customers take along what they buy in a shop on the street. For dates without zone see orders.sql.
  coalesce(s.shipped_at, case when o.store_no is not null then o.ordered_at end) as delivery_started_at,
  coalesce(s.delivered_at, case when o.store_no is not null then o.ordered_at end) as delivered_at,

  -- The parcel's number and its carrier. Null: none.
  s.tracking_no::text as invoice,
  s.carrier_name::text as delivery_service,

  -- The options that were chosen, for example {"색상": "아이보리", "사이즈": "M"}: an object whose values are all text, shown
  -- beside the review. Null: the product has no options.
  (
    select jsonb_object_agg(c.option_name, c.option_value)
    from shop.order_item_options c
    where c.order_item_no = i.order_item_no
  ) as product_options
from shop.order_items i
join shop.orders o on o.order_id = i.order_id
join shop.products p on p.product_no = i.product_no
left join shop.shipments s on s.shipment_no = i.shipment_no
