-- Takes the lease of each order that nobody is pushing, or whose lease has expired. The first run that begins to push
-- an order decides whether requests about it may carry contact, for as long as the row exists (promise 7). Until a push
-- is recorded, a run that decides for good (isForGood) withholds what another run allowed.
-- $1: [{code, token, contact, isForGood, orderedAt}]; $2: how long the lease lasts, in milliseconds. Index:
-- order_links_pkey.
-- An order with a lease owner is due until a push of it is recorded. So a fingerprint from before a push that died
-- counts as unknown, and the order stays due if this lease is given back without a record.
-- Every statement that locks several rows of sync.order_links locks them in the order of their codes.
-- A separate statement reads the order's lines. This one may wait for another process's row, and would then still show
-- the lines as they were before that process committed.
insert into sync.order_links as l (order_code, contact, ordered_at, lease_owner, lease_expires_at)
select distinct on (code) code, contact, "orderedAt", token, clock_timestamp() + $2 * interval '1 millisecond'
from jsonb_to_recordset($1::jsonb) as w (code text collate "C", token text, contact text, "orderedAt" timestamptz)
order by code
on conflict (order_code) do update
set lease_owner = excluded.lease_owner, lease_expires_at = excluded.lease_expires_at,
  contact = case
    when l.contact = 'allowed' and l.pushed_at is null
      and $1::jsonb @> jsonb_build_array(jsonb_build_object('code', l.order_code, 'isForGood', true)) then 'withheld'
    else coalesce(l.contact, excluded.contact) end,
  ordered_at = coalesce(l.ordered_at, excluded.ordered_at),
  fingerprint = case when l.lease_owner is null then l.fingerprint end,
  due_at = case when l.lease_owner is null then l.due_at else clock_timestamp() end
where l.lease_owner is null or l.lease_expires_at < clock_timestamp()
returning l.order_code as "orderCode", l.order_id as "orderId", l.ordered_at as "orderedAt", l.contact,
  l.sent_fields as "sentFields", l.failed_pushes as "failedPushes", l.due_at as "dueAt",
  coalesce(l.due_at <= clock_timestamp(), false) as "isDue", l.pushed_at as "pushedAt", fingerprint, lease_owner as token,
  -- Postgres locks the row that it updates, so xmax is 0 only if the row was inserted.
  xmax = 0 as "isNew"
