-- OpenCart 4. README.md says what was checked, and docs/connecting.md what each column means.
select
  o.order_id as code,

  -- All dates are in the zone of the shop (config_timezone in oc_setting): set SHOP_TIME_ZONE to it.
  o.date_added as created_at,

  -- With tax and shipping, after coupons, in the default currency. OpenCart notes a refund as a status, without an
  -- amount.
  o.total as total_price,

  -- 0 stands for a guest.
  nullif(o.customer_id, 0) as user_code,
  nullif(trim(concat_ws(' ', o.firstname, o.lastname)), '') as user_name,
  o.telephone as user_phone,
  o.email as user_email,
  case when o.customer_id <> 0 then nullif(o.customer_group_id, 0) end as user_grade_code
from oc_order o
-- 0: the checkout was not finished.
where o.order_status_id > 0
