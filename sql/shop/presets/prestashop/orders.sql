-- PrestaShop. README.md says what was checked, and docs/connecting.md what each column means.
select
  -- The number in the back office. The reference that customers see can belong to several orders.
  o.id_order as code,

  -- All dates are in the zone of the shop (PS_TIMEZONE in ps_configuration): set SHOP_TIME_ZONE to it.
  o.date_add as created_at,

  -- With tax and shipping, after discounts and credit slips, in the default currency of the shop.
  round((
    o.total_paid_tax_incl - coalesce(
      (
        select sum(coalesce(s.total_products_tax_incl, s.amount) + coalesce(s.total_shipping_tax_incl, s.shipping_cost_amount))
        from ps_order_slip s
        where s.id_order = o.id_order
      ), 0)
  ) / o.conversion_rate, 2) as total_price,

  -- A guest has a customer row of its own for each order, so it does not stand for a person.
  case when c.is_guest = 0 then c.id_customer end as user_code,
  nullif(trim(concat_ws(' ', c.firstname, c.lastname)), '') as user_name,
  -- No message to a customer who was deleted.
  case when c.deleted = 0 then coalesce(nullif(a.phone_mobile, ''), a.phone) end as user_phone,
  case when c.deleted = 0 then c.email end as user_email,
  case when c.is_guest = 0 then c.id_default_group end as user_grade_code
from ps_orders o
left join ps_customer c on c.id_customer = o.id_customer
left join ps_address a on a.id_address = o.id_address_invoice
