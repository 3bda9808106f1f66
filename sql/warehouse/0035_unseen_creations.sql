-- Creations whose sub-orders the service has not shown are remembered with what was sent, and apart from the lines: a line may change or go
-- before its sub-order appears. A line only knew that it had been sent twice.
alter table sync.order_links add column unseen_creations jsonb not null default '[]';
comment on column sync.order_links.unseen_creations is 'Sub-orders whose creation was sent, and that the service had not shown when the line was sent again, changed its sub-order or was removed; or that it stopped showing: [{lineCode, subOrderId, content, idsBefore}], as in sync.sub_order_links. One that appears within an hour of the last push belongs to no line, and is removed unless it has reviews.';
comment on column sync.order_links.retry_at is 'From then on the order is pushed again although the shop did not change it: its last push failed, or unseen_creations is not empty. Null: only a change of the order pushes it.';
update sync.order_links o
set unseen_creations = s.creations
from (
  select order_code, jsonb_agg(jsonb_build_object(
    'lineCode', line_code, 'subOrderId', null, 'content', content, 'idsBefore', ids_before
  )) as creations
  from sync.sub_order_links where was_sent_again and ids_before is not null group by order_code
) s
where s.order_code = o.order_code;
alter table sync.sub_order_links drop column was_sent_again;
