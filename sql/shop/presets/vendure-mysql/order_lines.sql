-- Vendure on MySQL or MariaDB: one row for each line of an order that was placed. A cancelled line keeps its row, with
-- quantity 0.
select
  d.order_code,
  d.line_code,
  d.product_code,
  -- As Vendure computes it: discounts are spread over the pieces that were placed. Cents.
  round(
    (d.list_price * d.pieces + d.adjustments * d.pieces / greatest(d.placed, d.pieces, 1))
      * case when d.includes_tax then 1 else 1 + d.tax_rate / 100 end
  ) / 100 as price,
  case
    when d.quantity = 0 then case when d.left_us > 0 then 'returned' else 'cancelled' end
    when d.arrived >= d.quantity then 'delivery_finished'
    when d.left_us > 0 then 'delivery_started'
    when d.pending > 0 then 'delivery_preparing'
    else 'paid'
  end as status,
  -- The database writes these dates in its own zone.
  convert_tz(d.delivery_started_at, @@global.time_zone, '+00:00') as delivery_started_at,
  case when d.arrived >= d.pieces then convert_tz(d.delivered_at, @@global.time_zone, '+00:00') end as delivered_at,
  d.invoice,
  d.delivery_service,
  d.product_options
from (
  select
    o.code as order_code,
    l.id as line_code,
    -- The product, not its variant: reviews are about products. For the article number select v.sku instead.
    v.productId as product_code,
    l.quantity,
    l.orderPlacedQuantity as placed,
    case
      when l.quantity > 0 then l.quantity
      when l.orderPlacedQuantity > 0 then l.orderPlacedQuantity
      -- The line was added by a change of the order, and cancelled.
      else (
        select coalesce(sum(m.quantity), 0)
        from order_line_reference m
        where m.orderLineId = l.id and m.discriminator = 'OrderModificationLine' and m.quantity > 0
      )
    end as pieces,
    l.listPrice as list_price,
    l.listPriceIncludesTax as includes_tax,
    (
      select coalesce(sum(a.amount), 0)
      from json_table(l.adjustments, '$[*]' columns (amount decimal(20, 4) path '$.amount')) a
    ) as adjustments,
    (
      select coalesce(sum(a.rate), 0)
      from json_table(l.taxLines, '$[*]' columns (rate decimal(10, 4) path '$.taxRate')) a
    ) as tax_rate,
    (
      select sum(fl.quantity)
      from order_line_reference fl
      join fulfillment f on f.id = fl.fulfillmentId
      where fl.orderLineId = l.id and fl.discriminator = 'FulfillmentLine' and f.state in ('Shipped', 'Delivered')
    ) as left_us,
    (
      select sum(fl.quantity)
      from order_line_reference fl
      join fulfillment f on f.id = fl.fulfillmentId
      where fl.orderLineId = l.id and fl.discriminator = 'FulfillmentLine' and f.state = 'Delivered'
    ) as arrived,
    (
      select sum(fl.quantity)
      from order_line_reference fl
      join fulfillment f on f.id = fl.fulfillmentId
      where fl.orderLineId = l.id and fl.discriminator = 'FulfillmentLine' and f.state in ('Created', 'Pending')
    ) as pending,
    -- Only the order's history has when a parcel left and arrived.
    (
      select min(e.createdAt)
      from order_line_reference fl
      join fulfillment f on f.id = fl.fulfillmentId and f.state <> 'Cancelled'
      join history_entry e on e.orderId = o.id and e.type = 'ORDER_FULFILLMENT_TRANSITION'
        and json_value(e.data, '$.fulfillmentId') = f.id
        and json_value(e.data, '$.to') in ('Shipped', 'Delivered')
      where fl.orderLineId = l.id and fl.discriminator = 'FulfillmentLine'
    ) as delivery_started_at,
    (
      select max(e.createdAt)
      from order_line_reference fl
      join fulfillment f on f.id = fl.fulfillmentId and f.state <> 'Cancelled'
      join history_entry e on e.orderId = o.id and e.type = 'ORDER_FULFILLMENT_TRANSITION'
        and json_value(e.data, '$.fulfillmentId') = f.id
        and json_value(e.data, '$.to') = 'Delivered'
      where fl.orderLineId = l.id and fl.discriminator = 'FulfillmentLine'
    ) as delivered_at,
    (
      select nullif(f.trackingCode, '')
      from order_line_reference fl
      join fulfillment f on f.id = fl.fulfillmentId
      where fl.orderLineId = l.id and fl.discriminator = 'FulfillmentLine' and f.state in ('Shipped', 'Delivered')
      order by f.trackingCode = '', f.id
      limit 1
    ) as invoice,
    (
      select nullif(f.method, '')
      from order_line_reference fl
      join fulfillment f on f.id = fl.fulfillmentId
      where fl.orderLineId = l.id and fl.discriminator = 'FulfillmentLine' and f.state in ('Shipped', 'Delivered')
      order by f.id
      limit 1
    ) as delivery_service,
    -- In one language: English if there is one, else the first.
    (
      select json_objectagg(
        (
          select t.name from product_option_group_translation t
          where t.baseId = po.groupId order by t.languageCode <> 'en', t.id limit 1
        ),
        (
          select t.name from product_option_translation t
          where t.baseId = po.id order by t.languageCode <> 'en', t.id limit 1
        )
      )
      from product_variant_options_product_option vo
      join product_option po on po.id = vo.productOptionId
      where vo.productVariantId = v.id
    ) as product_options
  from order_line l
  join `order` o on o.id = l.orderId
  join product_variant v on v.id = l.productVariantId
  where o.orderPlacedAt is not null and o.type <> 'Aggregate'
) d
