-- Saleor: one row for each line of an order.
select
  o.number as order_code,
  l.id as line_code,
  -- The product, not its variant: reviews are about products. If the variant was deleted, the order keeps only its
  -- SKU. For the id of the GraphQL API select encode(convert_to('Product:' || v.product_id, 'UTF8'), 'base64') instead.
  coalesce(v.product_id::text, l.product_sku, l.product_variant_id) as product_code,
  l.total_price_gross_amount as price,
  case
    when o.status = 'canceled' then 'cancelled'
    when f.undone >= l.quantity then 'returned'
    when f.sent > 0 then 'delivery_started'
    when f.to_approve > 0 then 'delivery_preparing'
    when o.charge_status in ('full', 'overcharged') then 'paid'
    else 'unpaid'
  end as status,
  f.shipped_at as delivery_started_at,
  -- Saleor does not know when a parcel arrived, and the service asks for a review some days after that. To count three
  -- days for the way, select this; the daily `sync reconcile` finds it when the time has come:
  --   case when f.last_shipped_at < now() - interval '3 days' then f.last_shipped_at + interval '3 days' end as delivered_at,
  f.tracking as invoice,
  nullif(o.shipping_method_name, '') as delivery_service,
  case when l.variant_name <> '' then jsonb_build_object('Variant', l.variant_name) end as product_options
from order_orderline l
join order_order o on o.id = l.order_id
left join product_productvariant v on v.id = l.variant_id
cross join lateral (
  -- The pieces of the line by fulfilment. A return moves them into a fulfilment of its own.
  select
    sum(fl.quantity) filter (where f.status = 'fulfilled') as sent,
    sum(fl.quantity) filter (where f.status in ('returned', 'refunded', 'refunded_and_returned', 'replaced')) as undone,
    sum(fl.quantity) filter (where f.status = 'waiting_for_approval') as to_approve,
    min(f.created_at) filter (where f.status = 'fulfilled') as shipped_at,
    -- If all pieces have left or were taken back: the date on which the last piece left that was not taken back.
    case
      when sum(fl.quantity) filter (
        where f.status in ('fulfilled', 'returned', 'refunded', 'refunded_and_returned', 'replaced')
      ) >= l.quantity then max(f.created_at) filter (where f.status = 'fulfilled')
    end as last_shipped_at,
    (array_agg(nullif(f.tracking_number, '') order by f.created_at, f.id) filter (where f.status = 'fulfilled'))[1] as tracking
  from order_fulfillmentline fl
  join order_fulfillment f on f.id = fl.fulfillment_id
  where fl.order_line_id = l.id
) f
where o.status not in ('draft', 'unconfirmed', 'expired')
