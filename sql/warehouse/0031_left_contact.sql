-- A backfill withholds contact that a stopped sync had allowed (promise 7). Earlier versions left it to the next sync,
-- which mailed the customer.
update sync.order_links set contact = 'withheld'
where contact = 'allowed' and pushed_at is not null and fingerprint is null and due_at is not null and lease_owner is null
  and not sent_fields && '{user_email,user_phone}';
