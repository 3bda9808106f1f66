-- Shopware 6: one row for each product line of the live version of an order.
select
  o.order_number as order_code,
  lower(hex(l.id)) as line_code,

  -- The number of the product; a variant has the reviews of its main product. If the product was deleted since, the
  -- number that the line noted.
  coalesce(main.product_number, p.product_number, json_value(l.payload, '$.productNumber')) as product_code,

  -- All pieces with tax, in the default currency. If the order has net prices, the tax of the line is added.
  round((
    cast(l.total_price as decimal(20, 4)) + case
      when o.tax_status = 'net' then coalesce(
        cast(json_value(l.price, '$.calculatedTaxes[0].tax') as decimal(20, 4)), 0)
      else 0
    end
  ) / coalesce(nullif(cast(o.currency_factor as decimal(20, 10)), 0), 1), 2) as price,

  -- The states of the order, of its parcel with this line, and of its last payment.
  case
    when order_state.technical_name = 'cancelled' or delivery_state.technical_name = 'cancelled' then 'cancelled'
    when delivery_state.technical_name = 'returned' then 'returned'
    when order_state.technical_name = 'completed' then 'delivery_finished'
    when delivery_state.technical_name in ('shipped', 'shipped_partially', 'returned_partially') then 'delivery_started'
    when payment_state.technical_name in ('refunded', 'chargeback') then 'returned'
    when payment_state.technical_name in ('paid', 'refunded_partially') and order_state.technical_name = 'in_progress'
      then 'delivery_preparing'
    when payment_state.technical_name in ('paid', 'refunded_partially') then 'paid'
    else 'unpaid'
  end as status,

  (
    select min(h.created_at)
    from state_machine_history h
    join state_machine_state hs on hs.id = h.to_state_id and hs.technical_name in ('shipped', 'shipped_partially')
    where h.referenced_id = d.id and h.referenced_version_id = d.version_id and h.entity_name = 'order_delivery'
  ) as delivery_started_at,

  -- Shopware does not know when a parcel arrives. An order in the state Done counts as delivered (README.md), unless
  -- its parcel came back or never left.
  case
    when order_state.technical_name = 'completed'
      and coalesce(delivery_state.technical_name, '') not in ('cancelled', 'returned') then (
      select max(h.created_at)
      from state_machine_history h
      join state_machine_state hs on hs.id = h.to_state_id and hs.technical_name = 'completed'
      where h.referenced_id = o.id and h.referenced_version_id = o.version_id and h.entity_name = 'order'
    )
  end as delivered_at,

  json_value(d.tracking_codes, '$[0]') as invoice,
  (
    select max(m.name)
    from shipping_method_translation m
    where m.shipping_method_id = d.shipping_method_id and m.language_id = 0x2FBB5FE2E29A4D70AA5854CE7CE3E20B
  ) as delivery_service,

  -- The choices of a variant, such as {"Colour": "Red"}.
  (
    select json_objectagg(x.name, x.value)
    from json_table(
      case when json_valid(l.payload) then l.payload else '{}' end,
      '$.options[*]' columns (name varchar(255) path '$.group', value varchar(255) path '$.option')
    ) x
    where x.name is not null
  ) as product_options
from order_line_item l
join `order` o on o.id = l.order_id and o.version_id = l.order_version_id
join state_machine_state order_state on order_state.id = o.state_id
left join order_delivery d on d.version_id = l.version_id and d.id = (
  select min(dp.order_delivery_id)
  from order_delivery_position dp
  where dp.order_line_item_id = l.id and dp.order_line_item_version_id = l.version_id
)
left join state_machine_state delivery_state on delivery_state.id = d.state_id
left join order_transaction t on t.version_id = o.version_id and t.id = (
  select latest.id
  from order_transaction latest
  where latest.order_id = o.id and latest.order_version_id = o.version_id
  order by latest.created_at desc, latest.id
  limit 1
)
left join state_machine_state payment_state on payment_state.id = t.state_id
left join product p on p.id = l.product_id and p.version_id = l.version_id
left join product main on main.id = p.parent_id and main.version_id = l.version_id
where l.type = 'product' and l.version_id = 0x0FA91CE3E96A4BC2BE4BD9CE752C3425
