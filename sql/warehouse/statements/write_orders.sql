-- Writes orders whose lease is still ours, each as a whole, with the links of its lines.
-- $1: one object an order, with the columns of `given`.
-- - lines: [{lineCode, subOrderId, content, isOurs, idsBefore, linkedAt}], the lines that are new or have changed.
-- - lineCodes: the codes of all lines that stay. Without both, only the lease is renewed.
-- $2 bigint: requests are sent next, and the lease is renewed for so many milliseconds. Null: the push is recorded:
-- what was sent, and lines that wait for a product id. Dead letters that are not among the new ones are closed. The
-- lease is given back. If due_at is no longer dueAt, the order was made due after its lease, and stays due.
-- Indexes: the primary keys, dead_letters_of_open_orders.
with given as materialized (
  select * from jsonb_to_recordset($1::jsonb) as g (
    "orderCode" text, token text, "orderId" bigint, fingerprint text, "sentFields" jsonb, "userGradeCode" text, "userGradeId" bigint,
    "orderedAt" timestamptz, "failedPushes" integer, "isAnswered" boolean, "dueAt" timestamptz, "dueAfterMs" bigint, lines jsonb, "lineCodes" jsonb, waiting jsonb,
    "deadLetters" jsonb
  )
),
leased as materialized (
  select l.order_code, g.*
  from sync.order_links l join given g on l.order_code = g."orderCode" and l.lease_owner = g.token
  -- Makes Postgres use the index. It expects 100 rows of `given`, and would read all orders if there are fewer than
  -- 20,000.
  where l.order_code = any (array(select "orderCode" from given))
  order by l.order_code
  for update of l
),
renewed as (
  update sync.order_links l
  set lease_expires_at = clock_timestamp() + $2::bigint * interval '1 millisecond'
  from leased o where l.order_code = o.order_code and $2::bigint is not null
),
recorded as (
  update sync.order_links l
  set order_id = o."orderId", fingerprint = o.fingerprint, sent_fields = array(select jsonb_array_elements_text(o."sentFields")),
    user_grade_code = o."userGradeCode", user_grade_id = o."userGradeId", ordered_at = coalesce(o."orderedAt", l.ordered_at),
    pushed_at = case when o."isAnswered" then clock_timestamp() else l.pushed_at end, failed_pushes = o."failedPushes", absent_since = null,
    waiting_lines = nullif(o.waiting, '{}'), waiting_since = case when o.waiting <> '{}' then coalesce(l.waiting_since, now()) end,
    due_at = case when date_trunc('milliseconds', l.due_at) is distinct from o."dueAt" then l.due_at
      else clock_timestamp() + o."dueAfterMs" * interval '1 millisecond' end,
    lease_owner = null, lease_expires_at = null
  from leased o where l.order_code = o.order_code and $2::bigint is null
),
deleted_links as (
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
-- The order as it was, for the counts behind bi (0005_counts.sql). Only the holder of an order's lease writes the order
-- and its lines.
touched as (
  insert into sync.touches (record, order_code, dated_at, product_id, delivered_at)
  select 'order', l.order_code, l.ordered_at, s.product_id, s.delivered_at
  from sync.order_links l
  left join sync.sub_order_links s on s.order_code = l.order_code and s.sub_order_id is not null
  where l.order_code in (select order_code from leased where "lineCodes" is not null)
),
closed as (
  update sync.dead_letters d set resolved_at = coalesce(d.resolved_at, now()), is_discarded = false
  from leased o
  where $2::bigint is null and d.order_code = o.order_code and (d.resolved_at is null or d.is_discarded)
    and not o."deadLetters" @> jsonb_build_array(jsonb_build_object('kind', d.kind, 'key', d.key))
)
select order_code as "orderCode" from leased
