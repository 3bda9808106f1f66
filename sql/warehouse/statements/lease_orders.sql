-- Takes the lease of each order that nobody is pushing, or whose lease has expired.
-- $1: [{order_code, token}]; $2: how long the lease lasts, in milliseconds.
-- An expired lease is that of a push that did not record what it sent: what is remembered of the order is not sure any
-- more. A statement of its own reads the order's lines. This one may wait for another process's row, and would then
-- still show the lines as they were before that process committed.
insert into sync.order_links as l (order_code, lease_owner, lease_expires_at)
select distinct on (order_code) order_code, token, clock_timestamp() + $2 * interval '1 millisecond'
from jsonb_to_recordset($1::jsonb) as w (order_code text, token text)
order by order_code
on conflict (order_code) do update
set lease_owner = excluded.lease_owner, lease_expires_at = excluded.lease_expires_at,
  fingerprint = case when l.lease_owner is null then l.fingerprint end,
  lines_unsure = l.lines_unsure or l.lease_owner is not null
where l.lease_owner is null or l.lease_expires_at < clock_timestamp()
returning
  order_code as "orderCode", lease_owner as token, order_id as "orderId", fingerprint, failures,
  failed_pushes as "failedPushes", coalesce(retry_at <= clock_timestamp(), false) as "isRetryDue",
  removals_wanted as "removalsWanted", removals_held as "removalsHeld", contact_hash as "contactHash", contact_sent as "contactSent",
  unseen_creations as unseen, sent_fields as "sentFields", user_grade_code as "userGradeCode", lines_unsure as "areLinesUnsure", pushed_at as "pushedAt", first_pushed_at as "firstPushedAt",
  -- Postgres locks the row that it updates: only a row that was inserted has no xmax.
  xmax = 0 as "isNew"
