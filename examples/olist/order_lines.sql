-- Olist's order items as review-sync wants them. The columns are explained in sql/shop/order_lines.sql.
select
  i.order_id as order_code,

  -- 1, 2, 3 … within its order. Three pieces of one product are three items.
  i.order_item_id::text as line_code,

  -- This shop keeps the service's product id beside its own, so nothing has to be learned from reviews first.
  p.service_product_id as product_id,

  i.price as price,

  -- Olist tells where an order stands, not its items: they all stand there.
  case o.order_status
    when 'created' then 'paid'
    when 'approved' then 'paid'
    when 'processing' then 'delivery_preparing'
    when 'invoiced' then 'delivery_preparing'
    when 'shipped' then 'delivery_started'
    when 'delivered' then 'delivery_finished'
    when 'canceled' then 'cancelled'
    when 'unavailable' then 'cancelled'
    else o.order_status
  end as status,

  o.order_delivered_carrier_date at time zone 'America/Sao_Paulo' as delivery_started_at,
  o.order_delivered_customer_date at time zone 'America/Sao_Paulo' as delivered_at
from olist_order_items i
join olist_orders o on o.order_id = i.order_id
left join olist_products p on p.product_id = i.product_id
