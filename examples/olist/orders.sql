-- Olist's orders as review-sync wants them. The columns are explained in sql/shop/orders.sql.
select
  o.order_id as code,
  o.order_purchase_timestamp at time zone 'America/Sao_Paulo' as created_at,

  -- Olist keeps no time of the last change, but the times of all it did: the newest is when the order last moved. The
  -- estimated delivery is left out, because a time to come would hide every change until it has passed.
  greatest(
    o.order_purchase_timestamp at time zone 'America/Sao_Paulo',
    o.order_approved_at at time zone 'America/Sao_Paulo',
    o.order_delivered_carrier_date at time zone 'America/Sao_Paulo',
    o.order_delivered_customer_date at time zone 'America/Sao_Paulo'
  ) as updated_at,

  -- What was paid; where no payment is known, what the items and their freight came to.
  coalesce(
    (select sum(p.payment_value) from olist_order_payments p where p.order_id = o.order_id),
    (select sum(i.price + i.freight_value) from olist_order_items i where i.order_id = o.order_id),
    0
  ) as total_price,

  -- The customer_id is new with each order; this one stays with the person.
  c.customer_unique_id as user_code
from olist_orders o
left join olist_customers c on c.customer_id = o.customer_id
