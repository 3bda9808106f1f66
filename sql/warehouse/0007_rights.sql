-- A run's row alone says what the run may do, and for which systems: the queue carries only keys (promise 7).
alter table sync.runs rename column trigger to started_by;
comment on column sync.runs.started_by is 'schedule: by its cron pattern; command: by a person or a script.';

-- Runs of an earlier version have no rights, so no process may carry them out.
update sync.runs set finished_at = now(), outcome = 'failed',
  error = 'review-sync was updated while the run was going. Nothing is lost; run it again'
where finished_at is null;

alter table sync.runs
  add column trigger text check (trigger in ('sync', 'rescan', 'backfill', 'backfill with e-mail', 'repair', 'retry', 'retry before the first sync', 'show')),
  add column allow_removals boolean not null default false,
  add column first_day text,
  add column last_day text,
  add column gaps boolean not null default false,
  add column contact_max_age_days double precision not null default 0,
  add column order_deletes text not null default 'off' check (order_deletes in ('off', 'send')),
  add column time_zone text not null default '',
  add column shop text not null default '',
  add column service text not null default '',
  add column attended_at timestamptz;
create unique index runs_one_of_a_key_at_a_time on sync.runs (key) where finished_at is null and key is not null;
comment on column sync.runs.trigger is 'Why the run exists: it decides whether the run may carry e-mail address and phone number. Null: a run of a version that did not know it.';
comment on column sync.runs.allow_removals is 'Whether the run may remove beyond the day''s allowance (--allow-removals).';
comment on column sync.runs.first_day is 'First day of a backfill, in time_zone. Null: open.';
comment on column sync.runs.last_day is 'Last day of a backfill, inclusive. Null: open.';
comment on column sync.runs.gaps is 'Whether a backfill of reviews reads only what the coverage ledger lacks (--gaps).';
comment on column sync.runs.contact_max_age_days is 'ORDER_CONTACT_MAX_AGE_DAYS of the process that started the run. The process that carries it out takes the lower one of this and its own.';
comment on column sync.runs.order_deletes is 'ORDER_DELETES of the process that started the run. An order is deleted only where this and the setting of the process that acts say send.';
comment on column sync.runs.time_zone is 'REVIEW_API_TIME_ZONE of the plan. A process with another one does not carry the run out.';
comment on column sync.runs.shop is 'The address of the shop''s database that the plan was made from, without user and password.';
comment on column sync.runs.service is 'The address of the service that the plan is for, and a hash of the client id.';
comment on column sync.runs.attended_at is 'When a process last said that it carries the run out. Null: none has yet.';
comment on index sync.runs_one_of_a_key_at_a_time is 'Of several commands at one moment, one starts the run of a range and the others join it.';
