-- Personal data ends: a dead letter that is resolved or discarded needs its record no longer.
create function sync.blank_resolved_payload() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.payload := 'null'::jsonb;
  return new;
end
$$;
comment on function sync.blank_resolved_payload() is 'Takes the record out of a dead letter that is resolved or discarded.';

create trigger dead_letters_blank before update on sync.dead_letters
  for each row when (new.resolved_at is not null) execute function sync.blank_resolved_payload();
update sync.dead_letters set payload = 'null' where resolved_at is not null;

create index dead_letters_by_resolution on sync.dead_letters (resolved_at) where resolved_at is not null;
comment on index sync.dead_letters_by_resolution is 'Deletes resolved dead letters after 90 days.';
comment on column sync.dead_letters.payload is 'The record as it was found, while the dead letter is open; null afterwards. May hold customers'' data.';
comment on column sync.dead_letters.resolved_at is 'When the record went through, or was discarded. The row is deleted 90 days later.';
comment on column sync.runs.error is 'Why the run did not end with done. Cleared after 90 days.';
