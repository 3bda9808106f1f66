-- Shopware 6. None of these dates has an index: README.md says which ones help. Without them each branch reads its
-- table once. updated_at is null until a row is changed for the first time. A change of state does not write the order,
-- and writes only the state into the table that has it: the history has every change.
select o.order_number as code, o.created_at as changed_at
from `order` o
where o.created_at >= :since and o.version_id = 0x0FA91CE3E96A4BC2BE4BD9CE752C3425

union all
select o.order_number, o.updated_at
from `order` o
where o.updated_at >= :since and o.version_id = 0x0FA91CE3E96A4BC2BE4BD9CE752C3425

union all
select o.order_number, h.created_at
from state_machine_history h
join `order` o on o.id = h.referenced_id and o.version_id = h.referenced_version_id
where h.created_at >= :since and h.entity_name = 'order'

union all
select o.order_number, h.created_at
from state_machine_history h
join order_delivery d on d.id = h.referenced_id and d.version_id = h.referenced_version_id
join `order` o on o.id = d.order_id and o.version_id = d.order_version_id
where h.created_at >= :since and h.entity_name = 'order_delivery'

union all
select o.order_number, h.created_at
from state_machine_history h
join order_transaction t on t.id = h.referenced_id and t.version_id = h.referenced_version_id
join `order` o on o.id = t.order_id and o.version_id = t.order_version_id
where h.created_at >= :since and h.entity_name = 'order_transaction'

union all
-- Tracking codes.
select o.order_number, d.updated_at
from order_delivery d
join `order` o on o.id = d.order_id and o.version_id = d.order_version_id
where d.updated_at >= :since and d.version_id = 0x0FA91CE3E96A4BC2BE4BD9CE752C3425

union all
select o.order_number, l.created_at
from order_line_item l
join `order` o on o.id = l.order_id and o.version_id = l.order_version_id
where l.created_at >= :since and l.version_id = 0x0FA91CE3E96A4BC2BE4BD9CE752C3425

union all
select o.order_number, l.updated_at
from order_line_item l
join `order` o on o.id = l.order_id and o.version_id = l.order_version_id
where l.updated_at >= :since and l.version_id = 0x0FA91CE3E96A4BC2BE4BD9CE752C3425
