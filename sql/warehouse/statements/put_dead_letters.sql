-- Stores records that could not be synced. Returns how many of these dead letters are open.
-- $1: [{kind, key, orderCode, reason, payload}], each key once. Index: dead_letters_one_failing_a_record.
-- A dead letter that a person has discarded stays closed while the reason is the same. Rows are written in the order of
-- their keys, so that two processes with the same records do not lock each other out.
with put as (
  insert into sync.dead_letters as d (kind, key, order_code, reason, payload)
  select kind, key, "orderCode", reason, coalesce(payload, 'null')
  from jsonb_to_recordset($1::jsonb) as r (kind text, key text, "orderCode" text, reason text, payload jsonb)
  order by kind, key
  on conflict (kind, key) where resolved_at is null or is_discarded do update
  set resolved_at = case when d.is_discarded and d.reason = excluded.reason then d.resolved_at end,
    is_discarded = d.is_discarded and d.reason = excluded.reason, reason = excluded.reason, payload = excluded.payload,
    order_code = excluded.order_code, attempts = d.attempts + 1, last_failed_at = now()
  returning resolved_at
)
select count(*)::integer as n from put where resolved_at is null
