-- OpenCart 4. None of these dates has an index: README.md says which ones help. Without them each branch reads its
-- table once.
select o.order_id as code, o.date_modified as changed_at
from oc_order o
where o.date_modified >= :since and o.order_status_id > 0

union all
-- A change of the state writes no date into the order. A checkout that was not finished has no history.
select h.order_id, h.date_added
from oc_order_history h
where h.date_added >= :since

union all
select r.order_id, r.date_modified
from oc_return r
where r.date_modified >= :since and r.order_id > 0
