-- Magento 2 and Mage-OS. README.md says what was checked, and docs/connecting.md what each column means.
select
  -- Unique in each store view only. If two store views share numbers, select o.entity_id here, in order_lines.sql
  -- and in changed_orders.sql instead.
  o.increment_id as code,

  o.created_at as created_at,

  -- In the base currency, whatever the customer paid in; with tax and shipping, after coupons, refunds and cancelled
  -- pieces.
  o.base_grand_total - coalesce(o.base_total_refunded, 0) - coalesce(o.base_total_canceled, 0) as total_price,

  -- Null: a guest.
  o.customer_id as user_code,
  nullif(trim(concat_ws(' ', coalesce(o.customer_firstname, b.firstname), coalesce(o.customer_lastname, b.lastname))), '')
    as user_name,
  -- A customer who was deleted gets no message: the order has no customer any more, and is not a guest's.
  case when o.customer_id is not null or o.customer_is_guest = 1 then b.telephone end as user_phone,
  case when o.customer_id is not null or o.customer_is_guest = 1 then o.customer_email end as user_email,

  -- Group 0 is "not logged in".
  nullif(o.customer_group_id, 0) as user_grade_code
from sales_order o
left join sales_order_address b on b.entity_id = o.billing_address_id
where o.increment_id is not null
