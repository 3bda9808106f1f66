-- Webhooks of the service say which reviews to read again. This is stored before a webhook is answered. Alerts are
-- posted once, by whichever process.
create table sync.changed_reviews (
  review_id   bigint primary key,
  events      integer not null default 1,
  received_at timestamptz not null default now(),
  attempts    integer not null default 0,
  due_at      timestamptz not null default now()
);
create index changed_reviews_by_due on sync.changed_reviews (due_at);
comment on table sync.changed_reviews is 'Reviews that a webhook said to have changed, until they are read by their id. At most 50,000.';
comment on column sync.changed_reviews.review_id is 'The service''s id of the review.';
comment on column sync.changed_reviews.events is 'How many events named it. An event that comes while the review is being read makes it due again.';
comment on column sync.changed_reviews.received_at is 'When the first event came.';
comment on column sync.changed_reviews.attempts is 'How often a process began to read it.';
comment on column sync.changed_reviews.due_at is 'When to read it next; in the future while a process is reading it.';
comment on index sync.changed_reviews_by_due is 'What is to be read next.';

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
