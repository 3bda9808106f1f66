-- Vendure on Postgres: the orders that were placed. See README.md in this folder; docs/presets.md explains how to
-- change a preset.
select
  o.code,
  -- Vendure's process writes this date in its own zone, SHOP_TIME_ZONE. Columns that Postgres writes by now() are in
  -- Postgres's zone.
  o."orderPlacedAt" as created_at,
  -- Vendure counts in cents. What is cancelled leaves the total; what is paid back without a cancellation does not.
  case
    when r.refunded > 0 then greatest(0, least(t.total, p.paid - r.refunded))
    else t.total
  end / 100.0 as total_price,
  -- The login, which with Vendure's own login is the e-mail address: README.md. Null for guests, and for a customer who
  -- was deleted. For the number instead, write u.id for u.identifier.
  case when c."deletedAt" is null then u.identifier end as user_code,
  nullif(btrim(concat_ws(' ', c."firstName", c."lastName")), '') as user_name,
  -- No message to a customer who was deleted.
  case when c."deletedAt" is null then coalesce(
    nullif(o."shippingAddress"::jsonb ->> 'phoneNumber', ''), nullif(c."phoneNumber", '')
  ) end as user_phone,
  case when c."deletedAt" is null then c."emailAddress" end as user_email,
  -- A customer can be in several groups: the oldest one counts.
  (select min(g."customerGroupId") from customer_groups_customer_group g where g."customerId" = c.id) as user_grade_code
from "order" o
left join customer c on c.id = o."customerId"
left join "user" u on u.id = c."userId"
cross join lateral (select o."subTotalWithTax" + o."shippingWithTax" as total) t
cross join lateral (
  select coalesce(sum(pay.amount), 0) as paid
  from payment pay
  where pay."orderId" = o.id and pay.state in ('Authorized', 'Settled')
) p
cross join lateral (
  select coalesce(sum(ref.total), 0) as refunded
  from payment pay
  join refund ref on ref."paymentId" = pay.id
  where pay."orderId" = o.id and ref.state = 'Settled'
) r
where o."orderPlacedAt" is not null and o.type <> 'Aggregate'
