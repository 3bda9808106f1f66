-- Which products are delivered often and hardly reviewed?
select product_id, product_code, delivered_sub_orders, reviewed_sub_orders, reviewed_share
from bi.reviews_per_delivered_sub_order_by_product
where delivered_sub_orders >= 5
order by reviewed_share, delivered_sub_orders desc, product_id
limit 8
