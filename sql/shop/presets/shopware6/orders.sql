-- Shopware 6. README.md says what was checked, and docs/connecting.md what each column means.
select
  o.order_number as code,

  -- All dates are in UTC: SHOP_TIME_ZONE=UTC.
  o.order_date_time as created_at,

  -- With tax and shipping, after discounts, in the default currency. Shopware notes a refund as a state, without an
  -- amount.
  round(cast(o.amount_total as decimal(20, 4)) / coalesce(nullif(cast(o.currency_factor as decimal(20, 10)), 0), 1), 2)
    as total_price,

  -- Null: a guest. A guest has a customer row of its own for each order, so it does not stand for a person.
  case when c.guest = 0 then oc.customer_number end as user_code,
  nullif(trim(concat_ws(' ', oc.first_name, oc.last_name)), '') as user_name,
  -- No message to a customer who was deleted: then the order has no customer any more.
  case when oc.customer_id is not null then a.phone_number end as user_phone,
  case when oc.customer_id is not null then oc.email end as user_email,
  case when c.guest = 0 then lower(hex(c.customer_group_id)) end as user_grade_code
from `order` o
left join order_customer oc on oc.order_id = o.id and oc.order_version_id = o.version_id
left join customer c on c.id = oc.customer_id
left join order_address a on a.id = o.billing_address_id and a.version_id = o.version_id
-- The live version: each draft of an edit is a further row with the same number.
where o.version_id = 0x0FA91CE3E96A4BC2BE4BD9CE752C3425 and o.order_number is not null
