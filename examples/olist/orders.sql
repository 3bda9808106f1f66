-- Olist's orders as review-sync wants them. The columns are explained in sql/shop/orders.sql. What changed is found by
-- changed_orders.sql.
select
  o.order_id as code,
  o.order_purchase_timestamp at time zone 'America/Sao_Paulo' as created_at,

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
