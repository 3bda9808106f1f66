-- Webhooks (docs/interface.md, "Events"): who receives them, and the outbox in which they wait.
create table reference_service.webhook_receivers (
  id         bigint generated always as identity primary key,
  url        text not null unique,
  created_at timestamptz not null
);

-- One row for each receiver and event. What was delivered or given up is deleted.
create table reference_service.webhook_events (
  id          bigint generated always as identity primary key,
  receiver_id bigint not null references reference_service.webhook_receivers on delete cascade,
  kind        text not null check (kind in ('review', 'product', 'summary')),
  subject_id  bigint not null,
  -- When the review or product changed. A summary has none: it is made from what is stored when it is sent.
  at          timestamptz check ((at is null) = (kind = 'summary'))
);
create index on reference_service.webhook_events (receiver_id, id);

alter table reference_service.products add updated_at timestamptz not null default now();

create function reference_service.emit(kind text, subject_id bigint, at timestamptz) returns void
language sql
begin atomic
  insert into reference_service.webhook_events (receiver_id, kind, subject_id, at)
  select r.id, $1, $2, $3 from reference_service.webhook_receivers r;
end;

-- Only a displayed review counts in its product's summary.
create function reference_service.emit_review() returns trigger
language plpgsql as $$
begin
  if not exists (select from reference_service.webhook_receivers) then
    return null;
  end if;
  if tg_op <> 'DELETE' then
    perform reference_service.emit('review', new.id, new.updated_at);
  end if;
  if tg_op = 'UPDATE'
    and (old.product_id, old.score, old.display) is not distinct from (new.product_id, new.score, new.display) then
    return null;
  end if;
  perform reference_service.emit('summary', counted.product_id, null)
  from (select old.product_id where old.display union select new.product_id where new.display) counted
  where counted.product_id is not null;
  return null;
end $$;

create function reference_service.emit_product() returns trigger
language plpgsql as $$
begin
  if tg_op = 'INSERT' or (old.code, old.category_code) is distinct from (new.code, new.category_code) then
    perform reference_service.emit('product', new.id, new.updated_at);
  end if;
  return null;
end $$;

-- Only the service's sessions emit: what is seeded, or mended by hand, emits nothing.
create trigger emit_review after insert or update or delete on reference_service.reviews
for each row when (current_setting('reference_service.emits', true) = 'yes')
execute function reference_service.emit_review();

create trigger emit_product after insert or update on reference_service.products
for each row when (current_setting('reference_service.emits', true) = 'yes')
execute function reference_service.emit_product();

-- There are no set products, so the numbers that include them are the same.
create function reference_service.product_summary_json(p reference_service.products) returns json
language sql stable
return (
  select json_build_object(
    'id', p.id, 'code', p.code, 'reviews_count', count(*), 'score', coalesce(avg(r.score)::float8, 0),
    'meta_reviews_count', count(*), 'meta_score', coalesce(avg(r.score)::float8, 0)
  )
  from reference_service.reviews r
  where r.product_id = p.id and r.display
);
