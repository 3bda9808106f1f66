-- Vendure on Postgres: which orders changed. The date of the order does not move for parcels, refunds and notes, so the
-- feed also reads history, lines, payments, refunds and parcels, and the customer of the order.
-- All these dates are written by Postgres's now(), in its own zone: they become dates with zone here. That is why
-- history is read by "updatedAt": the "createdAt" of a customer's history is written by Vendure's process, in its zone.
-- None of them has an index: see README.md.
select o.code, o."updatedAt" at time zone current_setting('TimeZone') as changed_at
from "order" o
where o."updatedAt" >= :since at time zone current_setting('TimeZone') and o."orderPlacedAt" is not null
  and o.type <> 'Aggregate'

union all
select o.code, h."updatedAt" at time zone current_setting('TimeZone')
from history_entry h
join "order" o on o.id = h."orderId"
where h."updatedAt" >= :since at time zone current_setting('TimeZone') and o."orderPlacedAt" is not null
  and o.type <> 'Aggregate'

union all
select o.code, h."updatedAt" at time zone current_setting('TimeZone')
from history_entry h
join "order" o on o."customerId" = h."customerId"
where h."updatedAt" >= :since at time zone current_setting('TimeZone') and o."orderPlacedAt" is not null
  and o.type <> 'Aggregate'

union all
select o.code, l."updatedAt" at time zone current_setting('TimeZone')
from order_line l
join "order" o on o.id = l."orderId"
where l."updatedAt" >= :since at time zone current_setting('TimeZone') and o."orderPlacedAt" is not null
  and o.type <> 'Aggregate'

union all
select o.code, p."updatedAt" at time zone current_setting('TimeZone')
from payment p
join "order" o on o.id = p."orderId"
where p."updatedAt" >= :since at time zone current_setting('TimeZone') and o."orderPlacedAt" is not null
  and o.type <> 'Aggregate'

union all
select o.code, r."updatedAt" at time zone current_setting('TimeZone')
from refund r
join payment p on p.id = r."paymentId"
join "order" o on o.id = p."orderId"
where r."updatedAt" >= :since at time zone current_setting('TimeZone') and o."orderPlacedAt" is not null
  and o.type <> 'Aggregate'

union all
select o.code, f."updatedAt" at time zone current_setting('TimeZone')
from fulfillment f
join order_line_reference fl on fl."fulfillmentId" = f.id
join order_line l on l.id = fl."orderLineId"
join "order" o on o.id = l."orderId"
where f."updatedAt" >= :since at time zone current_setting('TimeZone') and o."orderPlacedAt" is not null
  and o.type <> 'Aggregate'

union all
select o.code, c."updatedAt" at time zone current_setting('TimeZone')
from customer c
join "order" o on o."customerId" = c.id
where c."updatedAt" >= :since at time zone current_setting('TimeZone') and o."orderPlacedAt" is not null
  and o.type <> 'Aggregate'
