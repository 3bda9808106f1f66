-- Vendure on MySQL or MariaDB: which orders changed. The date of the order does not move for parcels, refunds and notes, so the feed
-- also reads history, lines, payments, refunds and parcels, and the customer of the order. None of these dates has an index: see
-- README.md.
select o.code, o.updatedAt as changed_at
from `order` o
where o.updatedAt >= :since and o.orderPlacedAt is not null

union all
select o.code, h.updatedAt
from history_entry h
join `order` o on o.id = h.orderId
where h.updatedAt >= :since and o.orderPlacedAt is not null

union all
select o.code, h.updatedAt
from history_entry h
join `order` o on o.customerId = h.customerId
where h.updatedAt >= :since and o.orderPlacedAt is not null

union all
select o.code, l.updatedAt
from order_line l
join `order` o on o.id = l.orderId
where l.updatedAt >= :since and o.orderPlacedAt is not null

union all
select o.code, p.updatedAt
from payment p
join `order` o on o.id = p.orderId
where p.updatedAt >= :since and o.orderPlacedAt is not null

union all
select o.code, r.updatedAt
from refund r
join payment p on p.id = r.paymentId
join `order` o on o.id = p.orderId
where r.updatedAt >= :since and o.orderPlacedAt is not null

union all
select o.code, f.updatedAt
from fulfillment f
join order_line_reference fl on fl.fulfillmentId = f.id
join order_line l on l.id = fl.orderLineId
join `order` o on o.id = l.orderId
where f.updatedAt >= :since and o.orderPlacedAt is not null

union all
select o.code, c.updatedAt
from customer c
join `order` o on o.customerId = c.id
where c.updatedAt >= :since and o.orderPlacedAt is not null
