-- WooCommerce with orders in wp_posts and wp_postmeta. README.md says what was checked, and docs/connecting.md what
-- each column means.
select
  -- The number that customers and staff see, unless a plugin for order numbers shows another one.
  o.ID as code,

  -- In UTC, as all dates of these queries: SHOP_TIME_ZONE=UTC.
  o.post_date_gmt as created_at,

  -- With tax and shipping, after coupons. A refund is a post of its own below the order.
  coalesce(
    (
      select max(cast(m.meta_value as decimal(26, 8)))
      from wp_postmeta m
      where m.post_id = o.ID and m.meta_key = '_order_total'
    ), 0) - coalesce(
    (
      select sum(cast(m.meta_value as decimal(26, 8)))
      from wp_posts r
      join wp_postmeta m on m.post_id = r.ID and m.meta_key = '_refund_amount'
      where r.post_parent = o.ID and r.post_type = 'shop_order_refund'
    ), 0) as total_price,

  -- 0 stands for a guest.
  nullif(
    (
      select max(m.meta_value)
      from wp_postmeta m
      where m.post_id = o.ID and m.meta_key = '_customer_user'
    ), '0') as user_code,
  -- WooCommerce puts placeholders such as [deleted] in the place of personal data that it erased.
  case
    when erased.meta_id is null then nullif(
      concat_ws(' ',
        (
          select nullif(max(m.meta_value), '')
          from wp_postmeta m
          where m.post_id = o.ID and m.meta_key = '_billing_first_name'
        ),
        (
          select nullif(max(m.meta_value), '')
          from wp_postmeta m
          where m.post_id = o.ID and m.meta_key = '_billing_last_name'
        )), '')
  end as user_name,
  case
    when erased.meta_id is null then (
      select max(m.meta_value)
      from wp_postmeta m
      where m.post_id = o.ID and m.meta_key = '_billing_phone'
    )
  end as user_phone,
  case
    when erased.meta_id is null then (
      select max(m.meta_value)
      from wp_postmeta m
      where m.post_id = o.ID and m.meta_key = '_billing_email'
    )
  end as user_email,

  -- Order attribution (WooCommerce 8.5 and newer) notes the device. Orders made by staff have none.
  (
    select max(case m.meta_value when 'Desktop' then 'pc' when 'Mobile' then 'mobile' when 'Tablet' then 'mobile' end)
    from wp_postmeta m
    where m.post_id = o.ID and m.meta_key = '_wc_order_attribution_device_type'
  ) as order_device,

  -- In the trash. What is deleted permanently has no row any more: the rescan finds it.
  case when o.post_status = 'trash' then o.post_modified_gmt end as deleted_at
from wp_posts o
left join wp_postmeta erased on erased.meta_id = (
  select max(m.meta_id)
  from wp_postmeta m
  where m.post_id = o.ID and m.meta_key = '_anonymized' and m.meta_value = 'yes'
)
where o.post_type = 'shop_order'
  and o.post_status not in ('auto-draft', 'draft', 'wc-checkout-draft', 'checkout-draft')
