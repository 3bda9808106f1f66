-- The orders, as the sample shop has them on MariaDB. One row an order.
--
-- This file belongs to you: put your own tables in and keep the names of the columns. The same query for Postgres, with
-- a comment on each column, is sql/shop/orders.sql of review-sync; docs/connecting.md leads you through it.
select
  o.order_no as code,
  -- Without zone, in Korean time: SHOP_TIME_ZONE=Asia/Seoul.
  o.ordered_at as created_at,
  o.paid_amount as total_price,
  m.login_id as user_code,
  o.buyer_name as user_name,
  o.buyer_mobile as user_phone,
  o.buyer_email as user_email,
  m.grade_code as user_grade_code,
  st.store_name as store_name,
  case o.sales_channel when 'pc_web' then 'pc' when 'mobile_web' then 'mobile' when 'app' then 'mobile' end as order_device,
  o.points_used as mileage,
  o.removed_at as deleted_at
from orders o
left join members m on m.member_no = o.member_no
left join stores st on st.store_no = o.store_no
