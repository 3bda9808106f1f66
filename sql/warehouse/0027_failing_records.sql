-- A record that fails has one dead letter, open or discarded. If it fails for another reason, a discarded one is opened
-- again.
update sync.dead_letters d set is_discarded = false
where is_discarded and exists (
  select from sync.dead_letters o
  where o.kind = d.kind and o.key = d.key and (o.resolved_at is null or (o.is_discarded and o.id > d.id))
);
create unique index dead_letters_one_failing_a_record on sync.dead_letters (kind, key) where resolved_at is null or is_discarded;
comment on index sync.dead_letters_one_failing_a_record is 'One open or discarded dead letter a record.';
drop index sync.dead_letters_one_open_a_record, sync.dead_letters_discarded;
