-- Vendure on Postgres: one row for each line of an order that was placed. A cancelled line keeps its row, with
-- quantity 0.
select
  o.code as order_code,
  l.id as line_code,
  -- The product, not its variant: reviews are about products. For the article number select v.sku instead.
  v."productId" as product_code,
  -- As Vendure computes it: discounts are spread over the pieces that were placed. Cents.
  round(
    (l."listPrice" + a.adjustments / greatest(l."orderPlacedQuantity", q.pieces, 1)) * q.pieces
      * case when l."listPriceIncludesTax" then 1 else 1 + a.tax_rate / 100 end
  ) / 100 as price,
  case
    when l.quantity = 0 then case when f.left_us > 0 then 'returned' else 'cancelled' end
    when f.arrived >= l.quantity then 'delivery_finished'
    when f.left_us > 0 then 'delivery_started'
    when f.pending > 0 then 'delivery_preparing'
    else 'paid'
  end as status,
  f.shipped_at at time zone current_setting('TimeZone') as delivery_started_at,
  case when f.arrived >= q.pieces then f.delivered_at at time zone current_setting('TimeZone') end as delivered_at,
  f.tracking as invoice,
  f.method as delivery_service,
  -- In one language: English if there is one, else the first.
  (
    select jsonb_object_agg(gt.name, ot.name)
    from product_variant_options_product_option vo
    join product_option po on po.id = vo."productOptionId"
    cross join lateral (
      select t.name from product_option_translation t
      where t."baseId" = po.id order by t."languageCode" <> 'en', t.id limit 1
    ) ot
    cross join lateral (
      select t.name from product_option_group_translation t
      where t."baseId" = po."groupId" order by t."languageCode" <> 'en', t.id limit 1
    ) gt
    where vo."productVariantId" = v.id
  ) as product_options
from order_line l
join "order" o on o.id = l."orderId"
join product_variant v on v.id = l."productVariantId"
cross join lateral (
  select case
    when l.quantity > 0 then l.quantity
    when l."orderPlacedQuantity" > 0 then l."orderPlacedQuantity"
    -- The line was added by a change of the order, and cancelled.
    else (
      select coalesce(sum(m.quantity), 0)
      from order_line_reference m
      where m."orderLineId" = l.id and m.discriminator = 'OrderModificationLine' and m.quantity > 0
    )
  end as pieces
) q
cross join lateral (
  select
    coalesce((select sum((x ->> 'amount')::numeric) from jsonb_array_elements(l.adjustments::jsonb) x), 0) as adjustments,
    coalesce((select sum((x ->> 'taxRate')::numeric) from jsonb_array_elements(l."taxLines"::jsonb) x), 0) as tax_rate
) a
cross join lateral (
  -- The parcels of the line. Only the order's history has when each of them left and arrived.
  select
    sum(fl.quantity) filter (where f.state in ('Shipped', 'Delivered')) as left_us,
    sum(fl.quantity) filter (where f.state = 'Delivered') as arrived,
    sum(fl.quantity) filter (where f.state in ('Created', 'Pending')) as pending,
    min(coalesce(h.shipped_at, h.delivered_at)) as shipped_at,
    max(h.delivered_at) as delivered_at,
    (array_agg(nullif(f."trackingCode", '') order by f.id) filter (where f.state in ('Shipped', 'Delivered')))[1] as tracking,
    (array_agg(nullif(f.method, '') order by f.id) filter (where f.state in ('Shipped', 'Delivered')))[1] as method
  from order_line_reference fl
  join fulfillment f on f.id = fl."fulfillmentId"
  cross join lateral (
    select
      min(e."createdAt") filter (where e.data::jsonb ->> 'to' = 'Shipped') as shipped_at,
      min(e."createdAt") filter (where e.data::jsonb ->> 'to' = 'Delivered') as delivered_at
    from history_entry e
    where e."orderId" = o.id
      and e.type = 'ORDER_FULFILLMENT_TRANSITION'
      and e.data::jsonb ->> 'fulfillmentId' = f.id::text
  ) h
  where fl."orderLineId" = l.id and fl.discriminator = 'FulfillmentLine' and f.state <> 'Cancelled'
) f
where o."orderPlacedAt" is not null and o.type <> 'Aggregate'
