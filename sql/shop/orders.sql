-- The orders that review-sync sends to the review service. One row an order.
--
-- This file belongs to you: as it stands it reads the sample shop (src/sample-shop/schema.sql). Put your own tables in
-- and keep the names and types of the columns. Columns marked * must be there and never null; leave the others out if
-- you have no such thing. No semicolon at the end: review-sync puts the query in brackets and reads it page by page.
--
-- A query that is slow here is slow every few minutes. If your orders are many, let the order's own row be touched
-- whenever one of its lines changes, give that column an index together with the code, and take it for updated_at.
select
  -- * Your order number. Unique, and it never changes: it is how the order is found again at the service.
  o.order_no::text as code,

  -- * When the customer ordered.
  o.ordered_at as created_at,

  -- * When the order, any of its lines or their shipments last changed. review-sync asks for "everything since", so a
  --   change that does not move this is never seen.
  greatest(
    o.modified_at,
    (select max(i.modified_at) from shop.order_items i where i.order_id = o.order_id),
    (select max(s.modified_at) from shop.shipments s where s.order_id = o.order_id)
  ) as updated_at,

  -- * What was really paid: without coupons and points.
  o.paid_amount::numeric as total_price,

  -- The customer's login. Null makes it a guest's order.
  m.login_id::text as user_code,

  -- The customer's name, as it may be shown beside a review.
  o.buyer_name::text as user_name,

  -- Where the service asks for a review: it sends messages here once the order is delivered. Null: none is sent.
  o.buyer_mobile::text as user_phone,
  o.buyer_email::text as user_email,

  -- A code of user_grades.sql.
  m.grade_code::text as user_grade_code,

  -- The name of the shop on the street, for an order made there.
  st.store_name::text as store_name,

  -- pc or mobile.
  case o.sales_channel
    when 'pc_web' then 'pc'
    when 'mobile_web' then 'mobile'
    when 'app' then 'mobile'
  end as order_device,

  -- Points the customer paid with.
  o.points_used::integer as mileage,

  -- Set when the order was removed from the shop. Keep showing removed orders, or nobody learns of it. What then
  -- happens at the service is decided by ORDER_DELETES: nothing, unless you say so.
  o.removed_at as deleted_at
from shop.orders o
left join shop.members m on m.member_no = o.member_no
left join shop.stores st on st.store_no = o.store_no
