-- Youngcart 5 has no date of change. It notes these moments: the order, the payment, the parcel. `sync reconcile` finds
-- all else, above all a change of the state: README.md says how to run it more often.
select o.od_id as code, o.od_time as changed_at
from g5_shop_order o
where o.od_time >= :since

union all
select o.od_id, o.od_receipt_time
from g5_shop_order o
where o.od_receipt_time >= :since

union all
select o.od_id, o.od_invoice_time
from g5_shop_order o
where o.od_invoice_time >= :since
