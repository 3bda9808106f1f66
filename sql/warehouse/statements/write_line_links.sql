-- Part of save_order_lines.sql and record_orders.sql: writes and deletes the line links of the orders in `leased`
-- (order_code, lines: [{lineCode, subOrderId, content, isOurs, idsBefore, linkedAt}], lineCodes: those that stay).
, deleted_links as (
  delete from sync.sub_order_links s using leased o where s.order_code = o.order_code and not o."lineCodes" ? s.line_code
),
written_links as (
  insert into sync.sub_order_links
    (order_code, line_code, sub_order_id, content, is_ours, ids_before, linked_at, product_id, status, delivered_at)
  select o.order_code, r."lineCode", r."subOrderId", r.content, r."isOurs", nullif(r."idsBefore", 'null'),
    coalesce(r."linkedAt", clock_timestamp()), (r.content ->> 'product_id')::bigint, r.content ->> 'status', (r.content ->> 'delivered_at')::timestamptz
  from leased o
  cross join lateral jsonb_to_recordset(o.lines)
    as r ("lineCode" text, "subOrderId" bigint, content jsonb, "isOurs" boolean, "idsBefore" jsonb, "linkedAt" timestamptz)
  on conflict (order_code, line_code) do update
  set sub_order_id = excluded.sub_order_id, content = excluded.content, is_ours = excluded.is_ours,
    ids_before = excluded.ids_before, product_id = excluded.product_id, status = excluded.status,
    delivered_at = excluded.delivered_at, linked_at = excluded.linked_at
),
-- The order as it was, for the counts behind bi (0005_counts.sql). Only the holder of its lease writes it and its lines.
touched as (
  insert into sync.touches (record, order_code, dated_at, product_id, delivered_at)
  select 'order', l.order_code, l.ordered_at, s.product_id, s.delivered_at
  from sync.order_links l
  left join sync.sub_order_links s on s.order_code = l.order_code and s.sub_order_id is not null
  where l.order_code in (select order_code from leased)
)
