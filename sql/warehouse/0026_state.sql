-- Reading the state costs the same after a year of runs and webhooks as after a day.
create index runs_by_time on sync.runs (started_at);
comment on index sync.runs_by_time is 'The newest runs.';
create index runs_not_ended on sync.runs (started_at) where finished_at is null;
comment on index sync.runs_not_ended is 'Runs that have not ended.';
create index webhook_inbox_by_receipt on sync.webhook_inbox (received_at);
comment on index sync.webhook_inbox_by_receipt is 'The newest webhook.';
