-- review-sync's own state: its settings, how far each flow has come, its runs, and what could not be synced.
-- 0002_orders.sql has the state of orders, 0003_reviews.sql that of reading reviews.
create schema sync;
comment on schema sync is 'review-sync''s own state. People may read it; only review-sync writes it.';

-- Views cannot read the environment: `migrate` writes the time zone here. Links, cursors and reviews belong to one
-- review service. Without its address, another service behind the same warehouse would be taken for up to date.
create table sync.settings (
  is_only           boolean primary key default true check (is_only),
  time_zone         text not null default 'Asia/Seoul',
  order_salt        text not null default gen_random_uuid()::text,
  counted_at        timestamptz,
  service_address   text,
  service_client    text,
  orders_cursor     jsonb,
  reviews_cursor    jsonb,
  removals_taken_at timestamptz[] not null default '{}',
  webhook_brands    jsonb not null default '{}'
);
insert into sync.settings default values;
comment on table sync.settings is 'What holds for the whole warehouse. One row.';
comment on column sync.settings.is_only is 'Always true: keeps the table at one row.';
comment on column sync.settings.time_zone is 'REVIEW_API_TIME_ZONE as of the last migrate: days and months of bi are in this zone.';
comment on column sync.settings.order_salt is 'Goes into order_key of bi, so that no order code can be found by trying codes.';
comment on column sync.settings.counted_at is 'When the counts behind bi were last made (0005_counts.sql). Null: everything is to be counted.';
comment on column sync.settings.service_address is 'REVIEW_API_BASE_URL as of the last command: the service to which all links, cursors and reviews belong. Null: no command has used a service yet.';
comment on column sync.settings.service_client is 'The first digits of the SHA-256 of REVIEW_API_CLIENT_ID: one address may serve many shops.';
comment on column sync.settings.removals_taken_at is 'Removals of orders and sub-orders at the service, one moment each, of the last 24 hours or older: a day''s allowance is counted by them (promise 6).';
comment on column sync.settings.orders_cursor is 'How far sync orders has come: at, the newest change that was read, and readTo, when that was looked for. Null: never.';
comment on column sync.settings.reviews_cursor is 'How far sync reviews has come: at, the newest update seen as the last run began, and readTo, when that run began. Null: never.';
comment on column sync.settings.webhook_brands is 'The service''s ids of the brands that webhooks of the last seven days name, at most 100, with the moment of the newest. Where there are several and WEBHOOK_BRAND_IDS does not say which are ours, no rating is believed.';

-- Every run has its own id. A run that continues another one has the same key.
create table sync.runs (
  id          text primary key,
  job         text not null,
  trigger     text not null check (trigger in ('schedule', 'command')),
  started_at  timestamptz not null,
  finished_at timestamptz,
  outcome     text check (outcome in ('done', 'incomplete', 'failed', 'abandoned')),
  counts      jsonb not null default '{}',
  error       text,
  key         text,
  reason      text check (reason in ('steps-failed', 'problem', 'dead-letters'))
);
create index runs_by_start on sync.runs (job, started_at desc);
create unique index runs_one_scheduled_at_a_time on sync.runs (job) where finished_at is null and trigger = 'schedule';
create index runs_by_key on sync.runs (key, started_at) where key is not null;
create index runs_by_time on sync.runs (started_at);
create index runs_not_ended on sync.runs (started_at) where finished_at is null;
comment on table sync.runs is 'One row a run of a flow.';
comment on column sync.runs.id is 'The id of the run''s job in the queue; no two runs ever have the same.';
comment on column sync.runs.job is 'Name of the job, as in jobs/.';
comment on column sync.runs.started_at is 'When the run began.';
comment on column sync.runs.finished_at is 'When it ended; null while it is running.';
comment on column sync.runs.outcome is 'done, incomplete (some records or windows failed), failed, abandoned (stopped by a person, or begun by a clock that was ahead); null while it is running.';
comment on column sync.runs.counts is 'What the run did, by kind.';
comment on column sync.runs.error is 'Why the run did not end with done. Cleared after 90 days.';
comment on column sync.runs.key is 'What the run is about, a backfill and its range of days; null otherwise. A backfill of reviews continues the one of its key, a backfill of orders replaces it.';
comment on column sync.runs.reason is 'Why an incomplete run is incomplete: steps-failed (some of its steps failed; the next run reads them again), problem (all steps succeeded, and the end of the run could not be completed), dead-letters (nothing but records that could not be synced); null otherwise. Where several hold, the first.';
comment on index sync.runs_by_start is 'The last runs of a job.';
comment on index sync.runs_one_scheduled_at_a_time is 'A scheduled run is not started on top of one that is going.';
comment on index sync.runs_by_key is 'The runs that a run continues.';
comment on index sync.runs_by_time is 'The newest runs.';
comment on index sync.runs_not_ended is 'Runs that have not ended.';

create table sync.dead_letters (
  id              bigint generated always as identity primary key,
  kind            text not null check (kind in ('order', 'order_line', 'category', 'user_grade', 'review', 'webhook')),
  key             text not null,
  reason          text not null,
  payload         jsonb not null,
  attempts        integer not null default 1,
  first_failed_at timestamptz not null default now(),
  last_failed_at  timestamptz not null default now(),
  resolved_at     timestamptz,
  order_code      text,
  is_discarded    boolean not null default false
);
create unique index dead_letters_one_open_a_record on sync.dead_letters (kind, key) where resolved_at is null;
create index dead_letters_of_open_orders on sync.dead_letters (order_code)
  where (resolved_at is null or is_discarded) and order_code is not null;
create index dead_letters_by_last_failure on sync.dead_letters (last_failed_at);
create index dead_letters_by_resolution on sync.dead_letters (resolved_at) where resolved_at is not null;
create index dead_letters_discarded on sync.dead_letters (kind, key) where is_discarded;
comment on table sync.dead_letters is 'Records that could not be synced, kept whole, with the reason. Open while resolved_at is null.';
comment on column sync.dead_letters.id is 'For dead-letters show, retry and discard.';
comment on column sync.dead_letters.kind is 'order, order_line, category, user_grade, review or webhook.';
comment on column sync.dead_letters.key is 'The record''s key: an order''s code, order code/line code, a review''s id; a hash of the record where it has none.';
comment on column sync.dead_letters.reason is 'Why it could not be synced: what was found and what was expected.';
comment on column sync.dead_letters.payload is 'The record as it was found, while the dead letter is open; null afterwards. May hold customers'' data.';
comment on column sync.dead_letters.attempts is 'How often it was tried.';
comment on column sync.dead_letters.first_failed_at is 'When it failed first.';
comment on column sync.dead_letters.last_failed_at is 'When it failed last.';
comment on column sync.dead_letters.resolved_at is 'When the record was synced or discarded. The row is deleted 90 days later, and 90 days after the record failed last.';
comment on column sync.dead_letters.order_code is 'The order that the record is or belongs to; null: another kind of record.';
comment on column sync.dead_letters.is_discarded is 'Whether a person closed it: until it is synced or fails for another reason, no dead letter is opened for it again.';
comment on index sync.dead_letters_one_open_a_record is 'One open letter a record.';
comment on index sync.dead_letters_of_open_orders is 'Open and discarded dead letters of an order and its lines.';
comment on index sync.dead_letters_by_last_failure is 'Dead letters that a run left or tried again.';
comment on index sync.dead_letters_by_resolution is 'Deletes resolved dead letters after 90 days.';
comment on index sync.dead_letters_discarded is 'Finds the discarded dead letters of a record that failed again.';

-- A dead letter that is resolved or discarded does not need its record any more. So the personal data in it ends here.
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

create unlogged table sync.rate_limit (
  key    varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
comment on column sync.rate_limit.key is 'What is counted.';
