-- A row of sync.alerts is an issue that was posted. One process at a time posts (sync.alert_watch), so no columns are
-- needed for what is still to be posted and what has ended.
delete from sync.alerts where told_at is null;
alter table sync.alerts drop column told_at, drop column cleared_at;
alter table sync.alerts rename column raised_at to posted_at;
comment on table sync.alerts is 'Issues that were posted to ALERT_WEBHOOK_URL. A row is deleted once the recovery was posted.';
comment on column sync.alerts.posted_at is 'When the message was accepted.';
comment on table sync.alert_watch is 'Which process posts to ALERT_WEBHOOK_URL.';
