-- Solidus on Postgres: one row for each line item of a completed order.
select
  o.number as order_code,
  l.id as line_code,
  -- The product, not its variant: reviews are about products. For the article number select v.sku instead.
  v.product_id as product_code,
  -- All pieces, after discounts, with tax. What was cancelled of a line is in adjustment_total.
  l.price * l.quantity + coalesce(l.adjustment_total, 0) as price,
  case
    when o.state = 'canceled' then 'cancelled'
    when u.units > 0 and u.canceled = u.units then 'cancelled'
    when u.units > 0 and u.returned + u.canceled = u.units then 'returned'
    when o.state = 'awaiting_return' and u.awaited > 0 then 'refund_requested'
    when u.left_us > 0 then 'delivery_started'
    when u.ready > 0 then 'delivery_preparing'
    when o.payment_state = 'paid' then 'paid'
    else 'unpaid'
  end as status,
  u.shipped_at as delivery_started_at,
  -- Solidus does not know when a parcel arrived, and the service asks for a review some days after that. To count three
  -- days for the way, select this; the daily `sync reconcile` finds it when the time has come:
  --   case when u.last_shipped_at < now() at time zone 'UTC' - interval '3 days' then u.last_shipped_at + interval '3 days' end as delivered_at,
  u.tracking as invoice,
  u.carrier as delivery_service,
  (
    select jsonb_object_agg(coalesce(t.presentation, t.name), coalesce(ov.presentation, ov.name, ''))
    from spree_option_values_variants ovv
    join spree_option_values ov on ov.id = ovv.option_value_id
    join spree_option_types t on t.id = ov.option_type_id
    where ovv.variant_id = l.variant_id and coalesce(t.presentation, t.name) is not null
  ) as product_options
from spree_line_items l
join spree_orders o on o.id = l.order_id
join spree_variants v on v.id = l.variant_id
cross join lateral (
  -- The pieces of the line, each in a shipment, and in a carton once it has left.
  select
    count(*) as units,
    count(*) filter (where i.state = 'canceled') as canceled,
    count(*) filter (where i.state = 'returned') as returned,
    count(*) filter (where i.state = 'shipped') as left_us,
    count(*) filter (where i.state = 'on_hand' and sh.state = 'ready') as ready,
    count(*) filter (where exists (
      select from spree_return_items ri where ri.inventory_unit_id = i.id and ri.reception_status = 'awaiting'
    )) as awaited,
    min(c.shipped_at) as shipped_at,
    -- If all pieces that were not cancelled have left: the date on which the last piece left that did not come back.
    case
      when bool_and(i.state in ('shipped', 'returned', 'canceled')) then max(c.shipped_at) filter (where i.state = 'shipped')
    end as last_shipped_at,
    (array_agg(coalesce(nullif(c.tracking, ''), nullif(sh.tracking, '')) order by c.shipped_at, i.id)
      filter (where c.id is not null))[1] as tracking,
    (array_agg(coalesce(nullif(m.carrier, ''), m.name) order by c.shipped_at, i.id) filter (where c.id is not null))[1] as carrier
  from spree_inventory_units i
  left join spree_shipments sh on sh.id = i.shipment_id
  left join spree_cartons c on c.id = i.carton_id
  left join spree_shipping_methods m on m.id = c.shipping_method_id
  where i.line_item_id = l.id
) u
where o.completed_at is not null
