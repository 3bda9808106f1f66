-- Vendure on MySQL or MariaDB: the orders that were placed. See README.md in this folder; docs/presets.md explains how
-- to change a preset. Without the hint MySQL computes the inner query for all orders that are left, for each page.
select /*+ merge(d) */
  d.code,
  d.created_at,
  -- Vendure counts in cents. What is cancelled leaves the total; what is paid back without a cancellation does not.
  case when d.refunded > 0 then greatest(0, least(d.total, d.paid - d.refunded)) else d.total end / 100 as total_price,
  d.user_code,
  d.user_name,
  d.user_phone,
  d.user_email,
  d.user_grade_code
from (
  select
    o.code,
    -- Vendure's process writes this date in UTC, whatever its own zone and that of the database are.
    o.orderPlacedAt as created_at,
    o.subTotalWithTax + o.shippingWithTax as total,
    (
      select coalesce(sum(pay.amount), 0)
      from payment pay
      where pay.orderId = o.id and pay.state in ('Authorized', 'Settled')
    ) as paid,
    (
      select coalesce(sum(ref.total), 0)
      from payment pay
      join refund ref on ref.paymentId = pay.id
      where pay.orderId = o.id and ref.state = 'Settled'
    ) as refunded,
    -- The login, which with Vendure's own login is the e-mail address: README.md. Null for guests, and for a customer
    -- who was deleted. For the number instead, write u.id for u.identifier.
    case when c.deletedAt is null then u.identifier end as user_code,
    nullif(trim(concat(c.firstName, ' ', c.lastName)), '') as user_name,
    -- No message to a customer who was deleted.
    case when c.deletedAt is null then coalesce(
      nullif(json_value(o.shippingAddress, '$.phoneNumber'), ''), nullif(c.phoneNumber, '')
    ) end as user_phone,
    case when c.deletedAt is null then c.emailAddress end as user_email,
    -- A customer can be in several groups: the oldest one counts.
    (select min(g.customerGroupId) from customer_groups_customer_group g where g.customerId = c.id) as user_grade_code
  from `order` o
  left join customer c on c.id = o.customerId
  left join `user` u on u.id = c.userId
  where o.orderPlacedAt is not null and o.type <> 'Aggregate'
) d
