-- Vendure on MySQL or MariaDB: which orders changed. The date of the order does not move for parcels, refunds and
-- notes, so the feed also reads history, lines, payments, refunds and parcels, and the customer of the order. None of
-- these dates has an index: see README.md.
-- The database writes all these dates by its own clock, in its own zone: they become UTC here.
select o.code, convert_tz(o.updatedAt, @@global.time_zone, '+00:00') as changed_at
from `order` o
where o.updatedAt >= convert_tz(:since, '+00:00', @@global.time_zone) and o.orderPlacedAt is not null
  and o.type <> 'Aggregate'

union all
select o.code, convert_tz(h.updatedAt, @@global.time_zone, '+00:00')
from history_entry h
join `order` o on o.id = h.orderId
where h.updatedAt >= convert_tz(:since, '+00:00', @@global.time_zone) and o.orderPlacedAt is not null
  and o.type <> 'Aggregate'

union all
select o.code, convert_tz(h.updatedAt, @@global.time_zone, '+00:00')
from history_entry h
join `order` o on o.customerId = h.customerId
where h.updatedAt >= convert_tz(:since, '+00:00', @@global.time_zone) and o.orderPlacedAt is not null
  and o.type <> 'Aggregate'

union all
select o.code, convert_tz(l.updatedAt, @@global.time_zone, '+00:00')
from order_line l
join `order` o on o.id = l.orderId
where l.updatedAt >= convert_tz(:since, '+00:00', @@global.time_zone) and o.orderPlacedAt is not null
  and o.type <> 'Aggregate'

union all
select o.code, convert_tz(p.updatedAt, @@global.time_zone, '+00:00')
from payment p
join `order` o on o.id = p.orderId
where p.updatedAt >= convert_tz(:since, '+00:00', @@global.time_zone) and o.orderPlacedAt is not null
  and o.type <> 'Aggregate'

union all
select o.code, convert_tz(r.updatedAt, @@global.time_zone, '+00:00')
from refund r
join payment p on p.id = r.paymentId
join `order` o on o.id = p.orderId
where r.updatedAt >= convert_tz(:since, '+00:00', @@global.time_zone) and o.orderPlacedAt is not null
  and o.type <> 'Aggregate'

union all
select o.code, convert_tz(f.updatedAt, @@global.time_zone, '+00:00')
from fulfillment f
join order_line_reference fl on fl.fulfillmentId = f.id
join order_line l on l.id = fl.orderLineId
join `order` o on o.id = l.orderId
where f.updatedAt >= convert_tz(:since, '+00:00', @@global.time_zone) and o.orderPlacedAt is not null
  and o.type <> 'Aggregate'

union all
select o.code, convert_tz(c.updatedAt, @@global.time_zone, '+00:00')
from customer c
join `order` o on o.customerId = c.id
where c.updatedAt >= convert_tz(:since, '+00:00', @@global.time_zone) and o.orderPlacedAt is not null
  and o.type <> 'Aggregate'
