-- WooCommerce with orders in wp_posts. Without an index on (post_type, post_modified_gmt) each branch reads all orders:
-- README.md.
select o.ID as code, o.post_modified_gmt as changed_at
from wp_posts o
where o.post_type = 'shop_order' and o.post_modified_gmt >= :since
  and o.post_status not in ('auto-draft', 'draft', 'wc-checkout-draft', 'checkout-draft')

union all
-- Refunds are posts of their own. The order itself does not always move with them.
select r.post_parent, r.post_modified_gmt
from wp_posts r
where r.post_type = 'shop_order_refund' and r.post_modified_gmt >= :since
