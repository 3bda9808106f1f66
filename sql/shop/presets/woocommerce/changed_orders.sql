-- WooCommerce with orders in tables of their own (HPOS): both branches use the index date_updated of wp_wc_orders.
select o.id as code, o.date_updated_gmt as changed_at
from wp_wc_orders o
where o.date_updated_gmt >= :since and o.type = 'shop_order'
  and o.status not in ('auto-draft', 'draft', 'wc-checkout-draft', 'checkout-draft')

union all
-- Refunds are rows of the same table. The order itself does not always move with them.
select r.parent_order_id, r.date_updated_gmt
from wp_wc_orders r
where r.date_updated_gmt >= :since and r.type = 'shop_order_refund'
