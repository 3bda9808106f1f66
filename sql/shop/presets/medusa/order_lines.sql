-- Medusa 2: one row for each line of the order's current version. Each change of an order writes a new set of
-- order_item rows; the old ones stay. A line that an edit took out is not in the new set.
select
  o.display_id as order_code,
  li.id as line_code,
  -- The product, not its variant: reviews are about products. For the article number select li.variant_sku instead.
  coalesce(li.product_id, li.variant_sku) as product_code,
  -- All pieces, after discounts, with tax. Medusa keeps fractions of a cent.
  round(
    (coalesce(oi.unit_price, li.unit_price) * oi.quantity - a.discount)
      * case when li.is_tax_inclusive then 1 else 1 + x.tax_rate / 100 end,
    2
  ) as price,
  case
    when o.canceled_at is not null then 'cancelled'
    when oi.return_received_quantity + oi.return_dismissed_quantity >= oi.quantity then 'returned'
    when oi.return_requested_quantity > 0 then 'refund_requested'
    when oi.delivered_quantity >= oi.quantity then 'delivery_finished'
    when oi.shipped_quantity > 0 or oi.delivered_quantity > 0 then 'delivery_started'
    when oi.fulfilled_quantity > 0 then 'delivery_preparing'
    when t.paid > 0 then 'paid'
    else 'unpaid'
  end as status,
  f.shipped_at as delivery_started_at,
  case when oi.delivered_quantity >= oi.quantity then f.delivered_at end as delivered_at,
  f.tracking as invoice,
  coalesce(
    (
      select jsonb_object_agg(v.key, v.value)
      from jsonb_each_text(
        case when jsonb_typeof(li.variant_option_values) = 'object' then li.variant_option_values end
      ) v
      where v.value is not null
    ),
    case when li.variant_title <> '' then jsonb_build_object('Variant', li.variant_title) end
  ) as product_options
from order_item oi
join "order" o on o.id = oi.order_id and o.version = oi.version
join order_line_item li on li.id = oi.item_id
cross join lateral (
  select coalesce(sum(ad.amount), 0) as discount
  from order_line_item_adjustment ad
  where ad.item_id = li.id and ad.version = oi.version and ad.deleted_at is null
) a
cross join lateral (
  select coalesce(sum(tl.rate), 0) as tax_rate
  from order_line_item_tax_line tl
  where tl.item_id = li.id and tl.deleted_at is null
) x
cross join lateral (
  select sum(ot.amount) as paid
  from order_transaction ot
  where ot.order_id = o.id and ot.amount > 0 and ot.deleted_at is null
) t
cross join lateral (
  select
    min(fu.shipped_at) as shipped_at,
    max(fu.delivered_at) as delivered_at,
    (array_agg(fl.tracking_number order by fu.shipped_at, fl.id) filter (where fl.tracking_number <> ''))[1] as tracking
  from fulfillment_item fi
  join fulfillment fu on fu.id = fi.fulfillment_id and fu.canceled_at is null and fu.deleted_at is null
  left join fulfillment_label fl on fl.fulfillment_id = fu.id and fl.deleted_at is null
  where fi.line_item_id = li.id and fi.deleted_at is null
) f
where o.deleted_at is null
  and not o.is_draft_order
  and oi.deleted_at is null
  -- A line that was typed in by hand is no product, and nobody can review it.
  and coalesce(li.product_id, li.variant_sku) is not null
