-- Saleor: which orders changed. Fulfilments, tracking numbers, returns and refunds do not always move the order's date,
-- but each of them leaves an event. Both dates have an index (that of the events since mid-2025).
select o.number as code, o.updated_at as changed_at
from order_order o
where o.updated_at >= :since and o.status not in ('draft', 'unconfirmed', 'expired')

union all
select o.number, e.date
from order_orderevent e
join order_order o on o.id = e.order_id
where e.date >= :since and o.status not in ('draft', 'unconfirmed', 'expired')
