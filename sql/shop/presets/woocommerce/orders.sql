-- WooCommerce with orders in tables of their own (HPOS). README.md says what was checked, and docs/connecting.md what
-- each column means.
select
  -- The number that customers and staff see, unless a plugin for order numbers shows another one.
  o.id as code,

  -- All dates of these tables are in UTC: SHOP_TIME_ZONE=UTC.
  o.date_created_gmt as created_at,

  -- With tax and shipping, after coupons. A refund is an order row of its own with a negative total.
  o.total_amount + coalesce(
    (
      select sum(r.total_amount)
      from wp_wc_orders r
      where r.parent_order_id = o.id and r.type = 'shop_order_refund'
    ), 0) as total_price,

  -- 0 stands for a guest.
  nullif(o.customer_id, 0) as user_code,
  -- WooCommerce puts placeholders such as [deleted] in the place of personal data that it erased.
  case when erased.id is null then nullif(trim(concat_ws(' ', a.first_name, a.last_name)), '') end as user_name,
  case when erased.id is null then a.phone end as user_phone,
  case when erased.id is null then o.billing_email end as user_email,

  -- Order attribution (WooCommerce 8.5 and newer) notes the device. Orders made by staff have none.
  (
    select max(case m.meta_value when 'Desktop' then 'pc' when 'Mobile' then 'mobile' when 'Tablet' then 'mobile' end)
    from wp_wc_orders_meta m
    where m.order_id = o.id and m.meta_key = '_wc_order_attribution_device_type'
  ) as order_device,

  -- In the trash. What is deleted permanently has no row any more: the rescan finds it.
  case when o.status = 'trash' then o.date_updated_gmt end as deleted_at
from wp_wc_orders o
left join wp_wc_order_addresses a on a.order_id = o.id and a.address_type = 'billing'
left join wp_wc_orders_meta erased on erased.id = (
  select max(m.id)
  from wp_wc_orders_meta m
  where m.order_id = o.id and m.meta_key = '_anonymized' and m.meta_value = 'yes'
)
where o.type = 'shop_order'
  and o.status not in ('auto-draft', 'draft', 'wc-checkout-draft', 'checkout-draft')
