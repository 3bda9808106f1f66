-- What the service tells by itself: kept before it is answered, applied afterwards.
create table sync.webhook_inbox (
  id          bigint generated always as identity primary key,
  received_at timestamptz not null default now(),
  body        text,
  size        integer not null,
  brand_ids   bigint[] not null default '{}',
  attempts    integer not null default 0,
  due_at      timestamptz not null default now(),
  last_error  text,
  applied_at  timestamptz
);
create index webhook_inbox_by_due on sync.webhook_inbox (due_at) where applied_at is null;
create index webhook_inbox_by_application on sync.webhook_inbox (applied_at) where applied_at is not null;
comment on table sync.webhook_inbox is 'Webhooks of the service, one row a request: written before it is answered. Rows that were applied go after seven days.';
comment on column sync.webhook_inbox.id is 'Order of arrival.';
comment on column sync.webhook_inbox.received_at is 'When it came.';
comment on column sync.webhook_inbox.body is 'What came, until it is applied.';
comment on column sync.webhook_inbox.size is 'Length of the body in bytes.';
comment on column sync.webhook_inbox.brand_ids is 'The brands that it tells of.';
comment on column sync.webhook_inbox.attempts is 'How often applying it was begun.';
comment on column sync.webhook_inbox.due_at is 'When to apply it next; in the future while somebody is at it.';
comment on column sync.webhook_inbox.last_error is 'Why the last attempt failed.';
comment on column sync.webhook_inbox.applied_at is 'When it was applied; null while it waits.';
