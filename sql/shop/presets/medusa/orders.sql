-- Medusa 2: the orders. See README.md in this folder; docs/presets.md explains how to change a preset.
select
  -- The number that customers see (#1001).
  o.display_id as code,
  o.created_at,
  -- Major unit; Medusa keeps fractions of a cent. An edit or a return changes the total of the order's version; what is
  -- paid back shows in the transactions only.
  round(
    case
      when o.canceled_at is not null then greatest(0, t.paid + t.refunded)
      when t.refunded < 0 then greatest(0, least(s.total, t.paid + t.refunded))
      else s.total
    end,
    2
  ) as total_price,
  o.customer_id as user_code,
  nullif(btrim(concat_ws(' ', coalesce(b.first_name, d.first_name), coalesce(b.last_name, d.last_name))), '') as user_name,
  -- No message to a customer who was deleted.
  case when k.deleted_at is null then coalesce(nullif(b.phone, ''), nullif(d.phone, '')) end as user_phone,
  case when k.deleted_at is null then nullif(o.email, '') end as user_email,
  -- A customer can be in several groups: the first one counts.
  (
    select g.customer_group_id
    from customer_group_customer g
    join customer_group cg on cg.id = g.customer_group_id and cg.deleted_at is null
    where g.customer_id = o.customer_id and g.deleted_at is null
    order by g.created_at, g.id
    limit 1
  ) as user_grade_code
from "order" o
left join customer k on k.id = o.customer_id
left join order_address b on b.id = o.billing_address_id
left join order_address d on d.id = o.shipping_address_id
cross join lateral (
  select coalesce(max(coalesce(
    os.totals #>> '{raw_current_order_total,value}', os.totals #>> '{current_order_total,value}', os.totals ->> 'current_order_total'
  )::numeric), 0) as total
  from order_summary os
  where os.order_id = o.id and os.version = o.version and os.deleted_at is null
) s
cross join lateral (
  select
    coalesce(sum(ot.amount) filter (where ot.amount > 0), 0) as paid,
    coalesce(sum(ot.amount) filter (where ot.amount < 0), 0) as refunded
  from order_transaction ot
  where ot.order_id = o.id and ot.deleted_at is null
) t
-- Medusa's index on display_id holds orders that are not deleted, and serves only with this condition.
where o.deleted_at is null and not o.is_draft_order
