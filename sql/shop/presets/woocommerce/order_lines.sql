-- WooCommerce with orders in tables of their own (HPOS): one row for each product line.
select
  i.order_id as order_code,
  i.order_item_id as line_code,

  -- The id of the product; all variations of a product share its reviews. For the SKU instead, select
  -- (select max(p.meta_value) from wp_postmeta p where p.post_id = <this id> and p.meta_key = '_sku').
  (
    select max(m.meta_value)
    from wp_woocommerce_order_itemmeta m
    where m.order_item_id = i.order_item_id and m.meta_key = '_product_id'
  ) as product_code,

  -- All pieces, after coupons, with tax. A partial refund changes total_price of the order, not the price of the line.
  (
    select coalesce(sum(cast(m.meta_value as decimal(26, 8))), 0)
    from wp_woocommerce_order_itemmeta m
    where m.order_item_id = i.order_item_id and m.meta_key in ('_line_total', '_line_tax')
  ) as price,

  case
    -- Refund lines name the line that they take back and count its pieces below 0.
    when (
      select coalesce(sum(cast(piece.meta_value as decimal(26, 8))), 0)
      from wp_wc_orders r
      join wp_woocommerce_order_items taken on taken.order_id = r.id
      join wp_woocommerce_order_itemmeta of_line on of_line.order_item_id = taken.order_item_id
        and of_line.meta_key = '_refunded_item_id' and of_line.meta_value = i.order_item_id
      join wp_woocommerce_order_itemmeta piece on piece.order_item_id = taken.order_item_id and piece.meta_key = '_qty'
      where r.parent_order_id = i.order_id and r.type = 'shop_order_refund'
    ) <= -(
      select max(cast(m.meta_value as decimal(26, 8)))
      from wp_woocommerce_order_itemmeta m
      where m.order_item_id = i.order_item_id and m.meta_key = '_qty'
    ) then 'returned'
    when o.status = 'wc-processing' then 'paid'
    when o.status = 'wc-completed' then 'delivery_finished'
    when o.status = 'wc-refunded' then 'returned'
    when o.status in ('wc-cancelled', 'wc-failed') then 'cancelled'
    when o.status in ('wc-pending', 'wc-on-hold') then 'unpaid'
    -- The status of a plugin is passed on by its own name.
    when o.status <> 'trash' then o.status
  end as status,

  -- WooCommerce knows no parcels. A completed order counts as delivered: see README.md.
  case when o.status = 'wc-completed' then d.date_completed_gmt end as delivery_started_at,
  -- A line that was refunded as a whole, perhaps before anything left, has no date: the service asks for reviews of
  -- what was delivered.
  case
    when o.status = 'wc-completed' and (
      select coalesce(sum(cast(piece.meta_value as decimal(26, 8))), 0)
      from wp_wc_orders r
      join wp_woocommerce_order_items taken on taken.order_id = r.id
      join wp_woocommerce_order_itemmeta of_line on of_line.order_item_id = taken.order_item_id
        and of_line.meta_key = '_refunded_item_id' and of_line.meta_value = i.order_item_id
      join wp_woocommerce_order_itemmeta piece on piece.order_item_id = taken.order_item_id and piece.meta_key = '_qty'
      where r.parent_order_id = i.order_id and r.type = 'shop_order_refund'
    ) > -(
      select max(cast(m.meta_value as decimal(26, 8)))
      from wp_woocommerce_order_itemmeta m
      where m.order_item_id = i.order_item_id and m.meta_key = '_qty'
    ) then d.date_completed_gmt
  end as delivered_at,

  -- The attributes of the variation by the names that customers see. WordPress writes a name in Korean, Japanese or
  -- Cyrillic as %xx codes into the key. Other texts of a line, such as an engraving, stay here.
  (
    select json_objectagg(
      coalesce(
        n.attribute_label,
        case when m.meta_key regexp '^(%[0-9a-f]{2})+$' then convert(unhex(replace(m.meta_key, '%', '')) using utf8mb4) end,
        m.meta_key
      ),
      coalesce(replace(t.name, '&amp;', '&'), m.meta_value)
    )
    from wp_woocommerce_order_itemmeta m
    left join wp_woocommerce_attribute_taxonomies n on m.meta_key like 'pa!_%' escape '!' and (
      m.meta_key = concat('pa_', n.attribute_name)
      or replace(substring(m.meta_key, 4), '%', '') = lower(hex(n.attribute_name))
    )
    -- The tables of a site older than WordPress 4.6 have another collation than those that WooCommerce added later.
    left join wp_term_taxonomy tt
      on tt.taxonomy = convert(concat('pa_', n.attribute_name) using utf8mb4) collate utf8mb4_unicode_520_ci
      and tt.term_id in (
        select s.term_id
        from wp_terms s
        where s.slug = convert(m.meta_value using utf8mb4) collate utf8mb4_unicode_520_ci
      )
    left join wp_terms t on t.term_id = tt.term_id
    where m.order_item_id = i.order_item_id
      and (
        m.meta_key like 'pa!_%' escape '!'
        or exists (
          select 1
          from wp_woocommerce_order_itemmeta v
          join wp_postmeta a on a.post_id = v.meta_value
            and a.meta_key = convert(concat('attribute_', m.meta_key) using utf8mb4) collate utf8mb4_unicode_520_ci
          where v.order_item_id = i.order_item_id and v.meta_key = '_variation_id'
        )
      )
  ) as product_options
from wp_woocommerce_order_items i
join wp_wc_orders o on o.id = i.order_id and o.type = 'shop_order'
left join wp_wc_order_operational_data d on d.order_id = i.order_id
where i.order_item_type = 'line_item'
  -- A line without a product (a fee that a plugin adds, a free text) cannot be reviewed.
  and exists (
    select 1
    from wp_woocommerce_order_itemmeta m
    where m.order_item_id = i.order_item_id and m.meta_key = '_product_id' and m.meta_value > 0
  )
