-- Records pushed orders, each as a whole: what was sent, the links of its lines, lines that wait for a product id, dead
-- letters; and gives the lease back, unless a request may still be under way. Only for orders whose lease is still
-- ours. A push that did not get the order accepted knows nothing of removals (removals_wanted is null): what is held
-- back stays as it is, and what was only noted is noted again by the next push. Otherwise what was held back during the
-- push stays so, with its dead letter, while something is to be removed.
-- $1: one object an order, with the columns of `g`.
-- @write_line_links: write_line_links.sql.
with leased as (
  update sync.order_links l
  set order_id = g.order_id, fingerprint = g.fingerprint, contact_hash = g.contact_hash, contact_sent = g.contact_sent,
    sent_fields = array(select jsonb_array_elements_text(g.sent_fields)),
    user_grade_code = g.user_grade_code, user_grade_id = g.user_grade_id,
    shop_updated_at = g.shop_updated_at, ordered_at = g.ordered_at, pushed_at = clock_timestamp(),
    failed_pushes = g.failed_pushes,
    failures = greatest(
      jsonb_array_length(g.dead_letters), (l.removals_held and g.removals_wanted is distinct from 0)::integer
    ),
    retry_at = clock_timestamp() + g.retry_after_ms * interval '1 millisecond',
    removals_held = (g.removals_held or l.removals_held) and g.removals_wanted is distinct from 0,
    removals_wanted = coalesce(g.removals_wanted, l.removals_held::integer * l.removals_wanted),
    removals_run = case when g.removals_wanted is null then l.removals_run else g.removals_run end,
    lines_unsure = g.lines_unsure,
    unseen_creations = g.unseen_creations,
    lease_owner = case when g.keeps_lease then l.lease_owner end,
    lease_expires_at = case when g.keeps_lease then l.lease_expires_at end
  from jsonb_to_recordset($1::jsonb) as g (
    order_code text, token text, order_id bigint, fingerprint text, contact_hash text, contact_sent boolean, sent_fields jsonb,
    user_grade_code text, user_grade_id bigint, shop_updated_at timestamptz, ordered_at timestamptz,
    failed_pushes integer, retry_after_ms bigint, removals_held boolean,
    removals_wanted integer, removals_run text, lines_unsure boolean, keeps_lease boolean,
    lines jsonb, drop_links jsonb, unseen_creations jsonb, waiting jsonb, dead_letters jsonb
  )
  where l.order_code = g.order_code and l.lease_owner = g.token
  returning l.order_code, l.removals_held, g.lines, g.drop_links, g.waiting, g.dead_letters
),
@write_line_links,
arrived as (
  delete from sync.waiting_lines w using leased o
  where w.order_code = o.order_code and not o.waiting @> jsonb_build_array(jsonb_build_object('line_code', w.line_code))
),
waiting as (
  insert into sync.waiting_lines as w (order_code, line_code, product_code)
  select o.order_code, r.line_code, r.product_code
  from leased o cross join lateral jsonb_to_recordset(o.waiting) as r (line_code text, product_code text)
  on conflict (order_code, line_code) do update set product_code = excluded.product_code
  where w.product_code <> excluded.product_code
),
closed as (
  update sync.dead_letters d set resolved_at = now()
  from leased o
  where d.order_code = o.order_code and d.resolved_at is null
    and not o.dead_letters @> jsonb_build_array(jsonb_build_object('kind', d.kind, 'key', d.key))
    and not (o.removals_held and d.kind = 'order')
),
opened as (
  insert into sync.dead_letters as d (kind, key, order_code, reason, payload)
  select r.kind, r.key, o.order_code, r.reason, r.payload
  from leased o
  cross join lateral jsonb_to_recordset(o.dead_letters) as r (kind text, key text, reason text, payload jsonb)
  on conflict (kind, key) where resolved_at is null do update
  set reason = excluded.reason, payload = excluded.payload, order_code = excluded.order_code,
    attempts = d.attempts + 1, last_failed_at = now(), checked_at = now()
)
select order_code as "orderCode" from leased
