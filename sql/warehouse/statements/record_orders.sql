-- Records pushed orders, each as a whole: what was sent, the links of its lines, lines that wait for a product id; closes
-- dead letters that are not among the new ones; and gives the lease back. Only for orders whose lease is still ours.
-- $1: one object an order, with the columns of `g`. Indexes: the primary keys, dead_letters_of_open_orders.
-- The comment stands for write_line_links.sql.
with locked as materialized (
  select l.order_code
  from sync.order_links l join jsonb_to_recordset($1::jsonb) as g ("orderCode" text, token text)
    on l.order_code = g."orderCode" and l.lease_owner = g.token
  order by l.order_code
  for update of l
),
leased as (
  update sync.order_links l
  set order_id = g."orderId", fingerprint = g.fingerprint, sent_fields = array(select jsonb_array_elements_text(g."sentFields")),
    user_grade_code = g."userGradeCode", user_grade_id = g."userGradeId", ordered_at = coalesce(g."orderedAt", l.ordered_at),
    pushed_at = case when g."isAnswered" then clock_timestamp() else l.pushed_at end, failed_pushes = g."failedPushes", absent_since = null,
    waiting_lines = nullif(g.waiting, '{}'), waiting_since = case when g.waiting <> '{}' then coalesce(l.waiting_since, now()) end,
    due_at = clock_timestamp() + g."dueAfterMs" * interval '1 millisecond',
    lease_owner = null, lease_expires_at = null
  from jsonb_to_recordset($1::jsonb) as g (
    "orderCode" text, token text, "orderId" bigint, fingerprint text, "sentFields" jsonb, "userGradeCode" text, "userGradeId" bigint,
    "orderedAt" timestamptz, "failedPushes" integer, "isAnswered" boolean, "dueAfterMs" bigint, lines jsonb, "lineCodes" jsonb, waiting jsonb,
    "deadLetters" jsonb
  )
  where l.order_code = g."orderCode" and l.lease_owner = g.token and l.order_code in (select order_code from locked)
  returning l.order_code, g.lines, g."lineCodes", g."deadLetters"
)
/*@write_line_links*/
, closed as (
  update sync.dead_letters d set resolved_at = coalesce(d.resolved_at, now()), is_discarded = false
  from leased o
  where d.order_code = o.order_code and (d.resolved_at is null or d.is_discarded)
    and not o."deadLetters" @> jsonb_build_array(jsonb_build_object('kind', d.kind, 'key', d.key))
)
select order_code as "orderCode" from leased
