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
  -- OpenCart keeps these characters as entities.
  nullif(trim(replace(replace(replace(replace(
    concat_ws(' ', o.firstname, o.lastname), '&quot;', '"'), '&lt;', '<'), '&gt;', '>'), '&amp;', '&'
  )), '') as user_name,
  -- No message to a customer who was deleted: then the order keeps the number, and the customer has no row any more.
  case when o.customer_id = 0 or k.customer_id is not null then o.telephone end as user_phone,
  case when o.customer_id = 0 or k.customer_id is not null then o.email end as user_email,
  case when o.customer_id <> 0 then nullif(o.customer_group_id, 0) end as user_grade_code
from oc_order o
left join oc_customer k on k.customer_id = o.customer_id
-- 0: the checkout was not finished.
where o.order_status_id > 0
