-- PrestaShop: one row for each product line. The numbers of the states are those of a new shop; to see them in yours:
--   select name, value from ps_configuration where name like 'PS!_OS!_%' escape '!'
select
  l.id_order as order_code,
  l.id_order_detail as line_code,

  -- The id of the product; all combinations of a product share its reviews. For the reference, select
  -- l.product_reference.
  l.product_id as product_code,

  -- All pieces with tax, before vouchers, in the default currency. Refunds change total_price of the order, not the
  -- line.
  round(l.total_price_tax_incl / o.conversion_rate, 2) as price,

  case
    when l.product_quantity_refunded + l.product_quantity_return >= l.product_quantity then 'returned'
    when o.current_state = 5 then 'delivery_finished'
    when o.current_state = 7 then 'returned'
    -- 8: payment error.
    when o.current_state in (6, 8) then 'cancelled'
    when s.shipped = 1 then 'delivery_started'
    when o.current_state = 3 then 'delivery_preparing'
    when s.paid = 1 then 'paid'
    else 'unpaid'
  end as status,

  -- The first state of the order that counts as shipped.
  (
    select min(h.date_add)
    from ps_order_history h
    join ps_order_state hs on hs.id_order_state = h.id_order_state and hs.shipped = 1
    where h.id_order = l.id_order
  ) as delivery_started_at,

  -- When the order got the state Delivered, as long as it has it. A line that was refunded as a whole, perhaps before
  -- anything left, has no date: the service asks for reviews of what was delivered.
  case
    when o.current_state = 5 and l.product_quantity_refunded + l.product_quantity_return < l.product_quantity then (
      select max(h.date_add)
      from ps_order_history h
      where h.id_order = l.id_order and h.id_order_state = 5
    )
  end as delivered_at,

  -- The parcels belong to the order, not to its lines: the first one with a number.
  (
    select p.tracking_number
    from ps_order_carrier p
    where p.id_order = l.id_order and p.tracking_number <> ''
    order by p.id_order_carrier
    limit 1
  ) as invoice,
  (
    select k.name
    from ps_order_carrier p
    join ps_carrier k on k.id_carrier = p.id_carrier
    where p.id_order = l.id_order and p.tracking_number <> ''
    order by p.id_order_carrier
    limit 1
  ) as delivery_service,

  -- The attributes of the combination as they are called now, in the language of the order.
  (
    select json_objectagg(gl.public_name, al.name)
    from ps_product_attribute_combination pac
    join ps_attribute a on a.id_attribute = pac.id_attribute
    join ps_attribute_lang al on al.id_attribute = a.id_attribute and al.id_lang = o.id_lang
    join ps_attribute_group_lang gl on gl.id_attribute_group = a.id_attribute_group and gl.id_lang = o.id_lang
    where pac.id_product_attribute = l.product_attribute_id
  ) as product_options
from ps_order_detail l
join ps_orders o on o.id_order = l.id_order
left join ps_order_state s on s.id_order_state = o.current_state
