-- Of what was delivered, how much gets a review, and how long does it take? By month of delivery.
select month, delivered_sub_orders, reviewed_sub_orders, reviewed_share, reviews_per_sub_order, median_days_to_review
from bi.reviews_per_delivered_sub_order
order by month desc
limit 12
