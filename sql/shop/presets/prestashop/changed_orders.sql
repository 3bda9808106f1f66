-- PrestaShop. None of these dates has an index: README.md says which ones help. Without them each branch reads its
-- table once.
select o.id_order as code, o.date_upd as changed_at
from ps_orders o
where o.date_upd >= :since

union all
select h.id_order, h.date_add
from ps_order_history h
where h.date_add >= :since

union all
select s.id_order, s.date_upd
from ps_order_slip s
where s.date_upd >= :since

union all
select r.id_order, r.date_upd
from ps_order_return r
where r.date_upd >= :since

union all
select p.id_order, p.date_add
from ps_order_carrier p
where p.date_add >= :since
