-- A discarded dead letter keeps the code of the order that the service shows for this one. Without it, the order's next
-- request would carry the customer to that order once more (alike_orders.sql).
create or replace function sync.blank_resolved_payload() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.payload := case when new.is_discarded and new.payload ? 'other_code'
    then jsonb_build_object('other_code', new.payload -> 'other_code') else 'null' end;
  return new;
end
$$;
comment on column sync.dead_letters.payload is 'The record as it was found, while the dead letter is open; null afterwards, but for other_code of a discarded one. May hold customers'' data.';
