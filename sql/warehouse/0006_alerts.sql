-- What the people on duty were told, so that they are told once, whichever process noticed it.
create table sync.alerts (
  key        text primary key,
  message    text not null,
  raised_at  timestamptz not null,
  told_at    timestamptz,
  cleared_at timestamptz
);
comment on table sync.alerts is 'What ALERT_WEBHOOK_URL was told, or is to be told. A row goes once the recovery was told.';
comment on column sync.alerts.key is 'What is wrong, and with what: failed sync-orders, say.';
comment on column sync.alerts.message is 'The sentence that was sent.';
comment on column sync.alerts.raised_at is 'When it was first noticed.';
comment on column sync.alerts.told_at is 'When the message was accepted; null: not yet.';
comment on column sync.alerts.cleared_at is 'When it was over; the recovery is yet to be told.';
