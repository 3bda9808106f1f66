-- Solidus on Postgres: the completed orders. See README.md in this folder; docs/presets.md explains how to change a
-- preset.
select
  o.number as code,
  -- Solidus writes UTC into columns without zone: SHOP_TIME_ZONE=UTC.
  o.completed_at as created_at,
  -- `total` does not go down by a refund. A cancelled order costs what was not paid back.
  case
    when o.state = 'canceled' then coalesce(o.payment_total, 0)
    else o.total - coalesce((
      select sum(r.amount)
      from spree_refunds r
      join spree_payments p on p.id = r.payment_id
      where p.order_id = o.id
    ), 0)
  end as total_price,
  o.user_id as user_code,
  coalesce(b.name, s.name) as user_name,
  coalesce(b.phone, s.phone) as user_phone,
  o.email as user_email
from spree_orders o
left join spree_addresses b on b.id = o.bill_address_id
left join spree_addresses s on s.id = o.ship_address_id
where o.completed_at is not null
