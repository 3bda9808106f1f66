-- Stores records that could not be synced.
-- $1: [{kind, key, orderCode, reason, payload}], each key once. Indexes: dead_letters_discarded, dead_letters_one_open_a_record.
-- `discarded`: what a person has discarded stays closed while the reason is the same; `over`: with another one it counts
-- no more. `opened`: all others, as one row each.
with failed as materialized (
  select kind, key, "orderCode" as order_code, reason, payload
  from jsonb_to_recordset($1::jsonb) as r (kind text, key text, "orderCode" text, reason text, payload jsonb)
),
discarded as (
  update sync.dead_letters d set attempts = d.attempts + 1, last_failed_at = now()
  from failed f
  where d.kind = f.kind and d.key = f.key and d.reason = f.reason and d.is_discarded
  returning d.kind, d.key
),
over as (
  update sync.dead_letters d set is_discarded = false
  from failed f
  where d.kind = f.kind and d.key = f.key and d.reason <> f.reason and d.is_discarded
),
opened as (
  insert into sync.dead_letters as d (kind, key, order_code, reason, payload)
  select kind, key, order_code, reason, coalesce(payload, 'null') from failed
  where (kind, key) not in (select kind, key from discarded)
  on conflict (kind, key) where resolved_at is null do update
  set reason = excluded.reason, payload = excluded.payload, order_code = excluded.order_code,
    attempts = d.attempts + 1, last_failed_at = now()
  returning d.id
)
select count(*)::integer as n from opened
