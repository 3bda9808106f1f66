-- The orders that review-sync sends to the review service. One row an order.
--
-- This file belongs to you: as shipped it reads the sample shop (src/sandbox/sample-shop/schema.sql). Put your own
-- tables in and keep the names of the columns. Columns marked * are required and must never be null. Leave other
-- columns out if the shop has no such thing: what the service has in such a field stays. docs/connecting.md leads you
-- through it, and `review-sync doctor` checks the result.
--
-- How the query is run. review-sync puts it in brackets and reads orders by code, 500 at a time: `where code in (…)`.
-- The database must be able to use an index for that, so select the column as it is: a cast between texts is harmless,
-- but `order_id::text` or `concat('O', order_id)` makes the database compute every row. A whole number may be selected
-- as one. What changed is found by changed_orders.sql. The sync without that file is slower: see `updated_at` below.
--
-- Dates. A date with zone (timestamptz) is taken as it is. A date without zone (timestamp) is in SHOP_TIME_ZONE. If
-- the dates of one table have another zone than the rest, write: <expression> at time zone '<zone in which the shop
-- writes it>'.
select
  -- * The order number. Unique over all rows, and it never changes: the order is found at the service by it. Text, a
  --   whole number or a uuid. An order that gets a new code becomes a second order at the service.
  o.order_no::text as code,

  -- * When the customer ordered. `sync reconcile` reads young orders again by this date: give it an index.
  o.ordered_at as created_at,

  -- updated_at is not selected here, because changed_orders.sql says what changed. In a shop without changed_orders.sql
  -- it is required: when the order or any of its lines or parcels last changed, one column with an index on
  -- (updated_at, code).

  -- * What the customer paid for the order, after coupons, points and refunds, with tax, and with the shipping fee if
  --   the customers see it so. In the major unit of the shop's currency (12.50 euros, 13900 won), never in cents: write
  --   round(amount_cents / 100.0, 2). There is no currency column: the service takes one currency for a shop.
  o.paid_amount::numeric as total_price,

  -- The customer's login or customer number: the service counts orders and reviews of one user_code as one person's, so
  -- it must stay the same for a person. Null: a guest's order.
  m.login_id::text as user_code,

  -- The customer's name, as it may be shown beside a review. Null: none is sent.
  o.buyer_name::text as user_name,

  -- The addresses at which the service asks for a review: it sends messages once the order is delivered. Null: no
  -- message is sent, and a value that was sent before is cleared. Orders older than ORDER_CONTACT_MAX_AGE_DAYS are sent
  -- without both.
  o.buyer_mobile::text as user_phone,
  o.buyer_email::text as user_email,

  -- A code of user_grades.sql. Null: no grade. A grade that is not in user_grades.sql yet is sent as soon as it is.
  m.grade_code::text as user_grade_code,

  -- The name of the shop on the street, for an order made there. Null: an online order.
  st.store_name::text as store_name,

  -- pc or mobile; any other value is an error. Null: unknown.
  case o.sales_channel
    when 'pc_web' then 'pc'
    when 'mobile_web' then 'mobile'
    when 'app' then 'mobile'
  end as order_device,

  -- Points that the customer paid with, a whole number. Null: none.
  o.points_used::integer as mileage,

  -- When the order was removed from the shop; null: it was not. Keep showing removed orders, so that the removal is
  -- seen. With ORDER_DELETES=off (the default) the order stays at the service; with ORDER_DELETES=send it is deleted
  -- there.
  o.removed_at as deleted_at
from shop.orders o
left join shop.members m on m.member_no = o.member_no
left join shop.stores st on st.store_no = o.store_no
