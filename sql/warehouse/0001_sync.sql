-- review-sync's own state: what was read and pushed, how far, and what could not be.
create schema sync;
comment on schema sync is 'review-sync''s own state. People may read it; only review-sync writes it.';

create table sync.cursors (
  flow       text primary key,
  position   jsonb not null,
  updated_at timestamptz not null default now()
);
comment on table sync.cursors is 'How far each incremental flow has come.';
comment on column sync.cursors.flow is 'orders or reviews.';
comment on column sync.cursors.position is 'orders: updatedAt and code of the last order read; reviews: the second up to which all updates were read.';
comment on column sync.cursors.updated_at is 'When the cursor last moved.';

create table sync.runs (
  id          text primary key,
  job         text not null,
  trigger     text not null check (trigger in ('schedule', 'command')),
  started_at  timestamptz not null,
  finished_at timestamptz,
  outcome     text check (outcome in ('done', 'incomplete', 'failed', 'abandoned')),
  counts      jsonb not null default '{}',
  error       text
);
create index runs_by_start on sync.runs (job, started_at desc);
create unique index runs_one_scheduled_at_a_time on sync.runs (job) where finished_at is null and trigger = 'schedule';
comment on table sync.runs is 'One row a run of a flow.';
comment on column sync.runs.id is 'The id of the run''s job in the queue.';
comment on column sync.runs.job is 'Name of the job, as in jobs/.';
comment on column sync.runs.trigger is 'schedule: by its cron pattern; command: by a person or a script.';
comment on column sync.runs.started_at is 'When the run began.';
comment on column sync.runs.finished_at is 'When it ended; null while it is going.';
comment on column sync.runs.outcome is 'done, incomplete (some records or windows failed), failed, abandoned (its job vanished); null while it is going.';
comment on column sync.runs.counts is 'What the run did, by kind.';
comment on column sync.runs.error is 'Why it did not end with done.';

create table sync.export_windows (
  id          bigint generated always as identity primary key,
  run_id      text not null,
  axis        text not null check (axis in ('created', 'updated')),
  start_at    timestamptz not null,
  end_at      timestamptz not null check (end_at >= start_at),
  pages       integer not null,
  reviews     integer not null,
  requests    integer not null,
  started_at  timestamptz not null,
  finished_at timestamptz not null
);
create index export_windows_by_span on sync.export_windows (axis, start_at, end_at);
create index export_windows_by_run on sync.export_windows (run_id);
comment on table sync.export_windows is 'The coverage ledger: every span of reviews that was read completely. Neighbours share their boundary second.';
comment on column sync.export_windows.id is 'Order in which windows were recorded.';
comment on column sync.export_windows.run_id is 'The run in sync.runs that read it.';
comment on column sync.export_windows.axis is 'created or updated: which date of the reviews the window is over.';
comment on column sync.export_windows.start_at is 'First second of the window.';
comment on column sync.export_windows.end_at is 'Last second of the window.';
comment on column sync.export_windows.pages is 'Pages that the window had.';
comment on column sync.export_windows.reviews is 'Different reviews that it held when it was read.';
comment on column sync.export_windows.requests is 'Requests that reading it cost, proof included.';
comment on column sync.export_windows.started_at is 'When its first request was sent.';
comment on column sync.export_windows.finished_at is 'When its rows were written.';

create table sync.dead_letters (
  id              bigint generated always as identity primary key,
  kind            text not null check (kind in ('order', 'order_line', 'category', 'user_grade', 'review', 'webhook')),
  key             text not null,
  reason          text not null,
  payload         jsonb not null,
  attempts        integer not null default 1,
  first_failed_at timestamptz not null default now(),
  last_failed_at  timestamptz not null default now(),
  resolved_at     timestamptz
);
create unique index dead_letters_one_open_a_record on sync.dead_letters (kind, key) where resolved_at is null;
comment on table sync.dead_letters is 'Records that could not be synced, kept whole, with the reason. Open while resolved_at is null.';
comment on column sync.dead_letters.id is 'For dead-letters show, retry and discard.';
comment on column sync.dead_letters.kind is 'order, order_line, category, user_grade, review or webhook.';
comment on column sync.dead_letters.key is 'The record''s key: an order''s code, order code/line code, a review''s id; a hash of the record where it has none.';
comment on column sync.dead_letters.reason is 'Why it could not be synced: what was found and what was expected.';
comment on column sync.dead_letters.payload is 'The record as it was met. May hold customers'' data.';
comment on column sync.dead_letters.attempts is 'How often it was tried.';
comment on column sync.dead_letters.first_failed_at is 'When it failed first.';
comment on column sync.dead_letters.last_failed_at is 'When it failed last.';
comment on column sync.dead_letters.resolved_at is 'When it went through, or was discarded.';

create table sync.order_links (
  order_code      text primary key,
  order_id        bigint,
  with_contact    boolean not null,
  fingerprint     text,
  shop_updated_at timestamptz,
  first_pushed_at timestamptz not null default now(),
  pushed_at       timestamptz
);
comment on table sync.order_links is 'The shop''s orders and what the service calls them.';
comment on column sync.order_links.order_code is 'The shop''s order code.';
comment on column sync.order_links.order_id is 'The service''s id; null between the first attempt and its answer.';
comment on column sync.order_links.with_contact is 'Whether the order goes with e-mail and phone: decided when it was first pushed, kept ever after.';
comment on column sync.order_links.fingerprint is 'Hash of the order with its lines as last tried; while it is the same the order costs no request. What of it was refused is a dead letter.';
comment on column sync.order_links.shop_updated_at is 'The shop''s updated_at of what was last pushed: an older version is never pushed over it.';
comment on column sync.order_links.first_pushed_at is 'When the order was first tried.';
comment on column sync.order_links.pushed_at is 'When the order was last pushed.';

create table sync.sub_order_links (
  order_code   text not null,
  line_code    text not null,
  sub_order_id bigint,
  content      jsonb not null,
  ids_before   jsonb,
  linked_at    timestamptz not null default now(),
  primary key (order_code, line_code)
);
create index sub_order_links_by_id on sync.sub_order_links (sub_order_id);
comment on table sync.sub_order_links is 'The shop''s order lines and what the service calls them.';
comment on column sync.sub_order_links.order_code is 'The shop''s order code.';
comment on column sync.sub_order_links.line_code is 'The shop''s line code, unique in its order.';
comment on column sync.sub_order_links.sub_order_id is 'The service''s id; null from just before the sub-order is added until the answer is there.';
comment on column sync.sub_order_links.content is 'The line as it was last pushed, or is being pushed.';
comment on column sync.sub_order_links.ids_before is 'The order''s sub-orders just before this one was added: after a lost answer, ours is not among them.';
comment on column sync.sub_order_links.linked_at is 'When the row was written.';

create table sync.product_links (
  product_code text primary key,
  product_id   bigint not null,
  linked_at    timestamptz not null default now()
);
create index product_links_by_id on sync.product_links (product_id);
comment on table sync.product_links is 'The shop''s product codes and the service''s product ids, learned from reviews and order lists.';
comment on column sync.product_links.product_code is 'The shop''s product code.';
comment on column sync.product_links.product_id is 'The service''s product id.';
comment on column sync.product_links.linked_at is 'When the pair was learned or last changed.';

create table sync.user_grade_links (
  user_grade_code text primary key,
  user_grade_id   bigint not null unique,
  fingerprint     text not null,
  linked_at       timestamptz not null default now()
);
comment on table sync.user_grade_links is 'The shop''s member grades and the service''s ids.';
comment on column sync.user_grade_links.user_grade_code is 'The shop''s code of the grade.';
comment on column sync.user_grade_links.user_grade_id is 'The service''s id of the grade.';
comment on column sync.user_grade_links.fingerprint is 'Hash of what was last pushed.';
comment on column sync.user_grade_links.linked_at is 'When the row was last written.';

create table sync.category_links (
  category_code text primary key,
  category_id   bigint not null,
  fingerprint   text not null,
  linked_at     timestamptz not null default now()
);
comment on table sync.category_links is 'The shop''s categories and the service''s ids.';
comment on column sync.category_links.category_code is 'The shop''s code of the category.';
comment on column sync.category_links.category_id is 'The service''s id of the category.';
comment on column sync.category_links.fingerprint is 'Hash of what was last pushed.';
comment on column sync.category_links.linked_at is 'When the row was last written.';

create unlogged table sync.rate_limit (
  key    varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
comment on table sync.rate_limit is 'Requests sent in the current second, over all workers (REVIEW_API_REQUESTS_PER_SECOND).';
comment on column sync.rate_limit.key is 'What is counted.';
comment on column sync.rate_limit.points is 'How many so far.';
comment on column sync.rate_limit.expire is 'When the count starts anew, in milliseconds since 1970.';
