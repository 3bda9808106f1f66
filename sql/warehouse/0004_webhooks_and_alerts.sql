-- Webhooks of the service are stored before they are answered, and applied afterwards. Alerts are posted once,
-- whichever process noticed the issue.
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
create index webhook_inbox_by_receipt on sync.webhook_inbox (received_at);
comment on table sync.webhook_inbox is 'Webhooks of the service, one row per request. The row is written before the response is sent, and deleted seven days after it was applied.';
comment on column sync.webhook_inbox.id is 'Order of arrival.';
comment on column sync.webhook_inbox.received_at is 'When it came.';
comment on column sync.webhook_inbox.body is 'The body of the request; null once it is applied.';
comment on column sync.webhook_inbox.size is 'Length of the body in bytes.';
comment on column sync.webhook_inbox.brand_ids is 'The brands that the body names.';
comment on column sync.webhook_inbox.attempts is 'How often a process began to apply it.';
comment on column sync.webhook_inbox.due_at is 'When to apply it next; in the future while a process is applying it.';
comment on column sync.webhook_inbox.last_error is 'Why the last attempt failed.';
comment on column sync.webhook_inbox.applied_at is 'When it was applied; null while it waits.';
comment on index sync.webhook_inbox_by_due is 'What is to be applied next.';
comment on index sync.webhook_inbox_by_application is 'What can go.';
comment on index sync.webhook_inbox_by_receipt is 'The newest webhook.';

create table sync.alerts (
  key        text primary key,
  message    text not null,
  raised_at  timestamptz not null,
  told_at    timestamptz,
  cleared_at timestamptz
);
comment on table sync.alerts is 'Issues that were posted to ALERT_WEBHOOK_URL, or are to be posted. A row is deleted once the recovery was posted.';
comment on column sync.alerts.key is 'Identifies the issue, such as: failed sync-orders.';
comment on column sync.alerts.message is 'The message.';
comment on column sync.alerts.raised_at is 'When it was first noticed.';
comment on column sync.alerts.told_at is 'When the message was accepted; null: it was not posted yet.';
comment on column sync.alerts.cleared_at is 'When the issue ended; the recovery is not posted yet.';
